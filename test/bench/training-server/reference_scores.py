"""What transformers and PEFT compute in f32: reference_scores.py MODEL [ADAPTER ...].

JSON on stdin, [{"promptIds", "responseIds"}]. Writes to stdout the log-probs of each response under the base, and for each
adapter its log-probs, its mean KL to the base over the response tokens, and its size relative to the matrices it changes:
{"base": [[...]], "adapters": [{"logProbs": [[...]], "klToBase", "relativeSize"}]}. Uses the GPU if PyTorch finds one.
"""

import json
import sys

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.backends.cuda.matmul.allow_tf32 = False


def distributions(model, prompt, response):
    """Log-probs over the vocabulary at each response token, [T, V]. In f64: f32 would round a small KL away."""
    ids = torch.tensor([prompt + response], device=device)
    logits = model(ids, logits_to_keep=len(response) + 1).logits[0, :-1].double()
    return torch.log_softmax(logits, -1)


def of_response(rows, response):
    return rows.gather(-1, torch.tensor(response, device=device)[:, None])[:, 0].tolist()


def relative_size(model, name):
    update, matrix = 0.0, 0.0
    for module in model.modules():
        if hasattr(module, "get_delta_weight"):
            update += module.get_delta_weight(name).double().square().sum().item()
            matrix += module.get_base_layer().weight.double().square().sum().item()
    return (update / matrix) ** 0.5


with torch.no_grad():
    sequences = [(each["promptIds"], each["responseIds"]) for each in json.load(sys.stdin)]
    plain = AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=torch.float32).to(device).eval()
    under_base = [distributions(plain, *sequence) for sequence in sequences]
    base = [of_response(rows, response) for rows, (_, response) in zip(under_base, sequences)]
    adapters = []
    model = None
    for path in sys.argv[2:]:
        name = f"adapter-{len(adapters)}"
        if model is None:
            model = PeftModel.from_pretrained(plain, path, adapter_name=name).eval()
        else:
            model.load_adapter(path, adapter_name=name)
        model.set_adapter(name)
        log_probs, divergence, tokens = [], 0.0, 0
        for rows_of_base, (prompt, response) in zip(under_base, sequences):
            rows = distributions(model, prompt, response)
            log_probs.append(of_response(rows, response))
            divergence += (rows.exp() * (rows - rows_of_base)).sum().item()
            tokens += len(response)
        size = relative_size(model, name)
        adapters.append({"logProbs": log_probs, "klToBase": divergence / tokens, "relativeSize": size})
json.dump({"base": base, "adapters": adapters}, sys.stdout)
