"""python3 sglang_cpu.py ARGUMENT...: SGLang's server on a CPU, of what the Python package index has.

Its own CPU kernels (sgl_kernel) are published nowhere as a package. With torch_native attention and LoRA it
calls one of them, which is here in PyTorch; memory is not pinned, which needs a GPU. The rest is SGLang's own.
Its worker processes run this file again, as multiprocessing does.
"""

import sys
import types

import torch


def missing(name):
    if name.startswith("__"):
        raise AttributeError(name)

    def call(*_, **__):
        raise NotImplementedError(f"sgl_kernel.{name}")

    return call


def assign_req_to_token_pool_cpu(requests, table, starts, ends, locations, _):
    taken = 0
    for request, start, end in zip(requests.tolist(), starts.tolist(), ends.tolist()):
        table[request, start:end] = locations[taken : taken + end - start].to(table.dtype)
        taken += end - start


kernels = types.ModuleType("sgl_kernel")
kernels.__path__ = []
kernels.__getattr__ = missing
kernels.assign_req_to_token_pool_cpu = assign_req_to_token_pool_cpu
sys.modules["sgl_kernel"] = kernels


def unpinned(make):
    return lambda *values, pin_memory=False, **options: make(*values, **options)


for maker in ("tensor", "empty", "zeros", "ones", "full", "arange", "empty_like"):
    setattr(torch, maker, unpinned(getattr(torch, maker)))
torch.Tensor.pin_memory = lambda self, *_: self

if __name__ == "__main__":
    from sglang.launch_server import run_server
    from sglang.srt.server_args import prepare_server_args

    run_server(prepare_server_args(sys.argv[1:]))
