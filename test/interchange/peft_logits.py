"""Logits of a model with a LoRA adapter, by transformers and PEFT in f32.

usage: peft_logits.py load|make|none MODEL ADAPTER IDS OUT
load: ADAPTER is a folder to read. make: an adapter with random numbers is made and saved there first.
none: the model alone, its numbers in the type that its folder names.
IDS: token ids as a JSON list. OUT: a safetensors file with `logits` [positions, vocabulary].
"""

import json
import sys

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

action, model_folder, adapter_folder, ids, out = sys.argv[1:]
torch.manual_seed(1)
dtype = "auto" if action == "none" else torch.float32
model = AutoModelForCausalLM.from_pretrained(model_folder, dtype=dtype, attn_implementation="eager")
if action == "load":
    model = PeftModel.from_pretrained(model, adapter_folder)
elif action == "make":
    targets = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    settings = LoraConfig(r=4, lora_alpha=8, target_modules=targets, task_type="CAUSAL_LM")
    model = get_peft_model(model, settings)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.05)
    model.save_pretrained(adapter_folder)
model.eval()
with torch.no_grad():
    logits = model(torch.tensor([json.loads(ids)])).logits[0]
save_file({"logits": logits.contiguous()}, out)
