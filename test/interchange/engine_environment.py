"""python3 engine_environment.py FOLDER MODULE PACKAGE UV OVERRIDE...: an environment in FOLDER with an engine for the CPU.

Engines ask for packages that the index does not have (PyTorch `+cpu`) or that only a GPU uses: overrides, which pip has
none of, say what comes instead, or nothing (`NAME ; sys_platform == "never"`).
"""

import os
import subprocess
import sys

folder, module, package, uv, *overrides = sys.argv[1:]
python = os.path.join(folder, "bin", "python")
here = os.path.dirname(os.path.abspath(__file__))
subprocess.run([sys.executable, os.path.join(here, "environment.py"), folder, "uv", f"uv=={uv}"], check=True)


def prints(code):
    return subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


if prints(f"import importlib.util; print(importlib.util.find_spec('{module}') is not None)") == "False":
    written = os.path.join(folder, "overrides.txt")
    with open(written, "w") as file:
        file.write("\n".join(overrides))
    install = ["-m", "uv", "pip", "install", "--quiet", "--python", python, "--overrides", written]
    subprocess.run([python, *install, package], check=True)
    name, version = package.split("==")
    if name != module:  # an engine of another package asks for its version under the usual name
        packages = prints("import sysconfig; print(sysconfig.get_path('purelib'))")
        metadata = os.path.join(packages, f"{module}-{version}+cpu.dist-info")
        os.makedirs(metadata, exist_ok=True)
        with open(os.path.join(metadata, "METADATA"), "w") as file:
            file.write(f"Metadata-Version: 2.4\nName: {module}\nVersion: {version}+cpu\n")
