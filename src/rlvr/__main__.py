from rlvr.commands import main

main()
