"""Papers: one package each, beside its folder in config/papers/. What only one paper needs is here.

The rest of rlvr names no paper.

A package may have these modules and folders, which registries of `rlvr.registry` find by their names:

    tables/, figures/    its kinds (`rlvr.items`)
    closed_forms/        its analytic tables and figures (`rlvr.theory.closed_forms`)
    theory               its chapter of the ledger (`rlvr.theory.ledger`)
    measures/            its measures of trained runs (`rlvr.config.measures.RunMeasure`)

Deleting a package, its folder in config/papers/ and its tests in tests/papers/ deletes the paper.
"""
