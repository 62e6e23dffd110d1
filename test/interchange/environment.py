"""python3 environment.py FOLDER MODULES PACKAGE...: a virtual environment in FOLDER that can import MODULES."""

import fcntl
import os
import subprocess
import sys
import venv

folder, modules, *packages = sys.argv[1:]
python = os.path.join(folder, "bin", "python")


def works(*arguments):
    if not os.path.exists(python):
        return False
    return subprocess.run([python, *arguments], capture_output=True).returncode == 0


os.makedirs(folder, exist_ok=True)
with open(os.path.join(folder, "lock"), "w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)  # test files run side by side: the second waits for the first
    if not works("-m", "pip", "--version"):
        venv.create(folder, with_pip=True)
    if not works("-c", f"import {modules}"):
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
