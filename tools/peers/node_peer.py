"""Runs packages from npm in a Node.js process of their own."""
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def missing(folder, package):
    """Returns why the npm package of a folder cannot be measured, or None if it can."""
    if not shutil.which("node"):
        return "skipped: node is not installed"
    if not os.path.isdir(os.path.join(folder, "node_modules", package)):
        return "skipped: %s has no npm package %s" % (folder, package)
    return None


class Node:
    """A script of this folder, which answers each line of JSON with a line of JSON."""

    def __init__(self, script, *arguments):
        self.script = script
        self.process = subprocess.Popen(
            ["node", os.path.join(HERE, script), *arguments], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, encoding="utf-8", env=dict(os.environ, RAYON_NUM_THREADS="1"))

    def ask(self, question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(self.script + " ended without an answer")
        return json.loads(answer)
