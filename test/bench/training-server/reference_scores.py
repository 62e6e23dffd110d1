"""The log-probs of transformers and PEFT, in f32: reference_scores.py MODEL [ADAPTER].

JSON on stdin, [{"promptIds", "responseIds"}]; writes the log-probs of each response, [[...]], to stdout. Uses the GPU if PyTorch
finds one.
"""

import json
import sys

import torch
from transformers import AutoModelForCausalLM

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.backends.cuda.matmul.allow_tf32 = False
model = AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=torch.float32).to(device).eval()
if len(sys.argv) > 2:
    from peft import PeftModel

    model = PeftModel.from_pretrained(model, sys.argv[2]).eval()
rows = []
with torch.no_grad():
    for sequence in json.load(sys.stdin):
        prompt, response = sequence["promptIds"], sequence["responseIds"]
        ids = torch.tensor([prompt + response], device=device)
        log_probs = torch.log_softmax(model(ids).logits[0, :-1].float(), -1)
        row = log_probs.gather(-1, ids[0, 1:, None])[:, 0][len(prompt) - 1 :]
        rows.append(row.tolist())
json.dump(rows, sys.stdout)
