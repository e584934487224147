"""A model's folder with random weights, from its configuration: `python rehearsal_weights.py FOLDER SEED OUT.json`.

FOLDER has config.json, the tokenizer and template.txt, and weights where it is a real model; OUT is the manifest to
write. Embeddings are wider than transformers' own start: logits then differ by nats, so that log-probabilities of other
weights are far from these.
"""

import sys
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from rlvr.files import publish_json, sha256
from rlvr.policies.store import Policy, entries_of, load_tokenizer, saved_beside

WIDER = 4.0
TEMPLATE = "template.txt"


def main() -> None:
    folder, seed, out = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    out.parent.mkdir(parents=True, exist_ok=True)
    template = (folder / TEMPLATE).read_text() if (folder / TEMPLATE).exists() else "{problem}"
    if any(folder.glob("*.safetensors")):
        sums = {path.name: sha256(path) for path in sorted(folder.iterdir()) if path.is_file()}
        publish_json(out, entries_of(out, folder, sums, template))
        return
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder), dtype=torch.float32)
    with torch.no_grad():
        model.get_input_embeddings().weight.mul_(WIDER)
    publish_json(out, saved_beside(out, Policy(model, load_tokenizer(str(folder)), template)))


if __name__ == "__main__":
    main()
