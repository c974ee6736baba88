"""What happens when user code imports something: site-packages join late, and a few modules are prepared for a context.

Python was started with -S: running `site` costs more than the rest of the start together (it reads every .pth file and
imports what those name). It runs before the first import of anything that is not in the standard library.
"""

import posix
import sys

from . import session

STANDARD = getattr(sys, "stdlib_module_names", frozenset()) | {__package__}
# Of the standard library, but they look at sys.path themselves.
LOOK_AT_PATH = frozenset(("site", "pkgutil", "runpy", "importlib.metadata", "importlib.resources", "sysconfig", "ensurepip"))

site_complete = False
# Whether there was no folder of the user's own packages yet: whoever installs the first one makes it.
user_site_due = False


def complete_site():
    """Does what Python does at its start without -S."""
    global site_complete, user_site_due
    if site_complete:
        return
    site_complete = True  # first, for what site itself imports
    import site

    # site makes every entry absolute; '' must go on meaning "wherever the code is now".
    here = "" in sys.path
    if here:
        sys.path.remove("")
    own_builtins = {name: getattr(sys.modules["builtins"], name) for name in ("exit", "quit", "help")}
    try:
        site.main()
    except BaseException:
        site_complete = False
        raise
    finally:
        if here:
            sys.path.insert(0, "")
        for name, value in own_builtins.items():
            setattr(sys.modules["builtins"], name, value)
    user_site_due = not user_base_exists()


def add_user_site():
    """The user's own packages, when the rest of site was done where their folder could not be seen, or was not there."""
    global user_site_due
    import site

    site.USER_BASE = site.USER_SITE = None
    user_site_due = not user_base_exists()
    if user_site_due:
        return
    if site.ENABLE_USER_SITE is not False:
        site.addusersitepackages(set(sys.path))


def user_base_exists():
    """Asked first, because in most sandboxes it does not, and the rest costs a kernel a quarter of a megabyte."""
    home = posix.environ.get(b"HOME")
    base = posix.environ.get(b"PYTHONUSERBASE") or (home and home + b"/.local")
    if not base:
        return True  # the password file knows
    try:
        posix.stat(base)
    except OSError:
        return False
    return True


def publish_sources(linecache):
    """Lets linecache, and so traceback and inspect, find the cells' sources: those newer than the last one it has."""
    for name, source in reversed(session.state.sources.items()):
        if name in linecache.cache:
            break
        linecache.cache[name] = (len(source), None, [line + "\n" for line in source.split("\n")], name)


def _pyplot_loaded(module):
    from . import rich

    module.show = rich.show_figures


def _plotly_loaded(module):
    from . import rich

    module.show = rich.show_plotly


def _ipython_display_loaded(module):
    from . import rich

    module.display = rich.display
    module.publish_display_data = rich.publish_display_data


AFTER_IMPORT = {
    "linecache": publish_sources,
    "matplotlib.pyplot": _pyplot_loaded,
    "plotly.io": _plotly_loaded,
    "IPython.core.display_functions": _ipython_display_loaded,
}


class _Prepared:
    """A loader that runs the module as its own loader would, and then our hook."""

    def __init__(self, loader, hook):
        self.loader = loader
        self.hook = hook

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        self.hook(module)


class Finder:
    """First on sys.meta_path, and never finds anything of its own."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in STANDARD or name in LOOK_AT_PATH:
            if not site_complete:
                complete_site()
            elif user_site_due and path is None:
                add_user_site()
        hook = AFTER_IMPORT.get(name)
        if hook is None:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Prepared(spec.loader, hook)
                return spec
        return None


def install():
    sys.meta_path.insert(0, Finder())
