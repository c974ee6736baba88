"""A long command that survives a broken connection: with a key it runs once, and is followed again after the last byte that came.
Needs CARREL_URL and CARREL_TOKEN."""

import uuid

from carrel import Output, Sandbox

with Sandbox.create(memory_mb=128) as sandbox:
    key = str(uuid.uuid4())
    with sandbox.exec_stream("for i in 1 2 3; do echo step $i; sleep 0.2; done", idempotency_key=key) as process:
        for event in process:
            if isinstance(event, Output):
                print(event.text, end="")
    # Asked for again with the same key it does not run again: its output is replayed.
    print(sandbox.exec("for i in 1 2 3; do echo step $i; sleep 0.2; done", idempotency_key=key).stdout.count("step"))
