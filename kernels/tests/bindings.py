"""What BIND does in every language; each language's tests take it in and say how their code reads the environment."""

import os
import struct

from driver import BIND, Died, Kernel

VARIABLES = {
    "PLAIN": "value",
    "EMPTY": "",
    "LINES": "first\nsecond\n",
    "QUOTES": "it's \"quoted\" `so` \\ and \\n",
    "COMMAND": "$(touch evaluated) `touch evaluated` ${PLAIN} ; touch evaluated",
    "EQUALS": "a=b==c",
    "ACCENTS": "é ü 日本 🙂",
    "SPACES": "  two  ",
    "__proto__": "no prototype",
    "LONG": "x" * 100_000,
}
# Too short, a count that lies both ways, a string that reaches out of its frame, a name without letters, with `=` and with NUL.
MALFORMED = (
    b"",
    struct.pack("<I", 1),
    struct.pack("<II", 0, 1) + b"A" + struct.pack("<I", 0),
    struct.pack("<II", 1, 1) + b"A" + struct.pack("<I", 9) + b"short",
    struct.pack("<III", 1, 0, 0),
    struct.pack("<II", 1, 3) + b"A=B" + struct.pack("<I", 0),
    struct.pack("<II", 1, 1) + b"A" + struct.pack("<I", 3) + b"a\0b",
)


class Bindings:
    def own(self, name):
        """Code that writes the variable to stdout as the cell's own language sees it, without a newline."""
        raise NotImplementedError

    def of_child(self):
        """Code that has a child process write its environment to the file `child`, entries ended by NUL."""
        raise NotImplementedError

    def test_bound_variables_are_seen_by_code_and_children_and_never_evaluated(self):
        with Kernel(self.language, env={"EMPTY": "was not"}) as kernel:
            self.assertEqual(kernel.bind(VARIABLES).status, "ok")
            for name, value in VARIABLES.items():
                outcome = kernel.run(self.own(name))
                self.assertEqual((outcome.status, outcome.out), ("ok", value), name)
            outcome = kernel.run(self.of_child())
            self.assertEqual(outcome.status, "ok", outcome)
            with open(os.path.join(kernel.folder, "child"), "rb") as file:
                child = dict(entry.split(b"=", 1) for entry in file.read().split(b"\0") if entry)
            self.assertEqual({name: child.get(name.encode()) for name in VARIABLES}, {n: v.encode() for n, v in VARIABLES.items()})
            self.assertFalse(os.path.exists(os.path.join(kernel.folder, "evaluated")))

    def test_binding_nothing_or_again_is_fine(self):
        with Kernel(self.language) as kernel:
            self.assertEqual(kernel.bind({}).status, "ok")
            kernel.bind({"AGAIN": "one"})
            kernel.run(self.own("AGAIN"))
            kernel.bind({"AGAIN": "two"})
            self.assertEqual(kernel.run(self.own("AGAIN")).out, "two")

    def test_a_malformed_binding_ends_the_kernel(self):
        for payload in MALFORMED:
            with Kernel(self.language) as kernel:
                kernel.send(BIND, payload)
                with self.assertRaises(Died, msg=payload) as death:
                    kernel.answer()
                self.assertNotEqual(death.exception.code, 0, payload)
                self.assertIn("kernel", death.exception.outcome.err)
