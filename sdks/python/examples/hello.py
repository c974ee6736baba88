"""A sandbox, a command, a file, and code that keeps its state. Needs CARREL_URL and CARREL_TOKEN."""

from carrel import Sandbox

with Sandbox.create(memory_mb=256) as sandbox:
    print(sandbox.exec("uname -s").stdout, end="")
    sandbox.files.write("numbers.txt", "1\n2\n3\n")
    sandbox.run_code("numbers = [int(line) for line in open('numbers.txt')]")
    print(sandbox.run_code("sum(numbers)").text)
