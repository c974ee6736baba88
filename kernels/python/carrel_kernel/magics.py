"""IPython's syntax, for the cells that use it.

IPython only translates such a cell into Python (`get_ipython().run_line_magic(…)`); the kernel runs the translation like any
other cell. So values, errors and interrupts are the same with and without it, and plain cells stay as quick as before.
"""

import sys

from . import session

_shell = None


def translate(source, error):
    """The cell in plain Python, or None when it is not IPython's syntax but simply wrong."""
    if not looks_like_ipython(source):
        return None
    shell = _load(error)
    translated = shell.transform_cell(source)
    return None if translated.rstrip() == source.rstrip() else translated


def looks_like_ipython(source):
    for line in source.splitlines():
        line = line.strip()
        if line.startswith(("%", "!", "?")) or line.endswith("?"):
            return True
        if not line.startswith("#"):
            _, equals, right = line.partition("=")
            if equals and right.lstrip().startswith(("!", "%")):
                return True
    return False


def get_ipython():
    """The shell, with which code asks whether it is in a notebook: without IPython there is no such name."""
    try:
        import IPython  # noqa: F401
    except ImportError:
        raise NameError("name 'get_ipython' is not defined") from None
    return _load(None)


def _load(error):
    global _shell
    if _shell is None:
        try:
            import IPython  # noqa: F401
        except ImportError:
            error.msg = (
                "%s (this looks like IPython syntax, and IPython is not installed here: use subprocess.run([...]) for"
                " `!command`, plain Python for `%%magic`, or install the package ipython)" % error.msg
            )
            raise error from None
        _shell = _new_shell()
    return _shell


def _new_shell():
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    from . import rich

    class Publisher(DisplayPublisher):
        def publish(self, data, metadata=None, source=None, **options):
            rich.publish_display_data(data)

    class Shell(InteractiveShell):
        display_pub_class = Publisher

        def system(self, command):
            self.user_ns["_exit_code"] = run_shell(self.var_expand(command, depth=1))

        system_piped = system_raw = system

        def enable_gui(self, gui=None):
            """Figures are shown after each cell whatever `%matplotlib` says."""

        def init_display_pub(self):
            self.display_pub = Publisher(parent=self)

    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "NoColor"
    config.InteractiveShell.autocall = 0
    config.InteractiveShell.automagic = False
    before = dict(session.main.__dict__)
    shell = Shell.instance(config=config, user_module=session.main, user_ns=session.main.__dict__)
    for name in ("exit", "quit", "_", "__", "___"):
        # IPython's would end its own loop; those of the kernel end the cell. And it is not IPython that sees the values.
        if name not in before:
            session.main.__dict__.pop(name, None)
    shell.set_hook("show_in_pager", _print_page, 1)
    return shell


def _print_page(_shell_, text, start=0, screen_lines=0):
    print(text.get("text/plain", "") if isinstance(text, dict) else text)


def run_shell(command):
    """Runs `!command` on the cell's own streams, so that its output appears as it is written."""
    import signal
    import subprocess

    session.flush_streams()
    child = subprocess.Popen(command, shell=True, executable=_bash())
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:
            # The interrupt reached the kernel alone.
            child.send_signal(signal.SIGINT)
            try:
                child.wait(2)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            raise


def _bash():
    import shutil

    return shutil.which("bash") or "/bin/sh"
