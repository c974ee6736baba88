"""Written by sdks/generate.py from spec/openapi.yaml. Change the contract or the generator, not this file.

An exception for each code of an error. Catch `CarrelError` for all of them.
"""

from .._errors import CarrelError

__all__ = [
    "AppFailed",
    "ApprovalNotFound",
    "BudgetExhausted",
    "ContextNotFound",
    "DirectoryNotEmpty",
    "EgressDenied",
    "EngineFailed",
    "EngineNotAvailable",
    "ExecNotFound",
    "ExportNotFound",
    "FileExists",
    "FileNotFound",
    "Forbidden",
    "GuestLost",
    "ImageInvalid",
    "ImageNotFound",
    "ImageSourceFailed",
    "Internal",
    "InvalidInput",
    "IsolationNotAvailable",
    "KeyNotFound",
    "KeyReused",
    "LanguageNotAvailable",
    "LimitReached",
    "MethodNotAllowed",
    "NoSpace",
    "NotADirectory",
    "NotAFile",
    "NotFound",
    "NotSupported",
    "PermissionDenied",
    "PortClosed",
    "PreconditionFailed",
    "RangeNotSatisfiable",
    "ResultGone",
    "SandboxGone",
    "SandboxNotFound",
    "SecretNotFound",
    "ShuttingDown",
    "SkillNotFound",
    "SnapshotNotFound",
    "StoreBusy",
    "TooLarge",
    "Unauthenticated",
    "UploadNotFound",
    "VaultDamaged",
    "VolumeNotFound",
    "WebFailed",
    "WrongState",
]


class InvalidInput(CarrelError):
    """The code `invalid_input`."""


class Unauthenticated(CarrelError):
    """The code `unauthenticated`."""


class Forbidden(CarrelError):
    """The code `forbidden`."""


class NotFound(CarrelError):
    """The code `not_found`."""


class MethodNotAllowed(CarrelError):
    """The code `method_not_allowed`."""


class SandboxNotFound(CarrelError):
    """The code `sandbox_not_found`."""


class ExecNotFound(CarrelError):
    """The code `exec_not_found`."""


class ContextNotFound(CarrelError):
    """The code `context_not_found`."""


class FileNotFound(CarrelError):
    """The code `file_not_found`."""


class VolumeNotFound(CarrelError):
    """The code `volume_not_found`."""


class SnapshotNotFound(CarrelError):
    """The code `snapshot_not_found`."""


class SecretNotFound(CarrelError):
    """The code `secret_not_found`."""


class ApprovalNotFound(CarrelError):
    """The code `approval_not_found`."""


class KeyNotFound(CarrelError):
    """The code `key_not_found`."""


class ExportNotFound(CarrelError):
    """The code `export_not_found`."""


class UploadNotFound(CarrelError):
    """The code `upload_not_found`."""


class SkillNotFound(CarrelError):
    """The code `skill_not_found`."""


class ImageNotFound(CarrelError):
    """The code `image_not_found`."""


class ImageInvalid(CarrelError):
    """The code `image_invalid`."""


class ImageSourceFailed(CarrelError):
    """The code `image_source_failed`."""


class LanguageNotAvailable(CarrelError):
    """The code `language_not_available`."""


class EngineNotAvailable(CarrelError):
    """The code `engine_not_available`."""


class IsolationNotAvailable(CarrelError):
    """The code `isolation_not_available`."""


class NotSupported(CarrelError):
    """The code `not_supported`."""


class KeyReused(CarrelError):
    """The code `key_reused`."""


class NotAFile(CarrelError):
    """The code `not_a_file`."""


class NotADirectory(CarrelError):
    """The code `not_a_directory`."""


class FileExists(CarrelError):
    """The code `file_exists`."""


class DirectoryNotEmpty(CarrelError):
    """The code `directory_not_empty`."""


class PermissionDenied(CarrelError):
    """The code `permission_denied`."""


class WrongState(CarrelError):
    """The code `wrong_state`."""


class PreconditionFailed(CarrelError):
    """The code `precondition_failed`."""


class RangeNotSatisfiable(CarrelError):
    """The code `range_not_satisfiable`."""


class TooLarge(CarrelError):
    """The code `too_large`."""


class NoSpace(CarrelError):
    """The code `no_space`."""


class LimitReached(CarrelError):
    """The code `limit_reached`."""


class EgressDenied(CarrelError):
    """The code `egress_denied`."""


class WebFailed(CarrelError):
    """The code `web_failed`."""


class BudgetExhausted(CarrelError):
    """The code `budget_exhausted`."""


class PortClosed(CarrelError):
    """The code `port_closed`."""


class AppFailed(CarrelError):
    """The code `app_failed`."""


class SandboxGone(CarrelError):
    """The code `sandbox_gone`."""


class ResultGone(CarrelError):
    """The code `result_gone`."""


class GuestLost(CarrelError):
    """The code `guest_lost`."""


class EngineFailed(CarrelError):
    """The code `engine_failed`."""


class StoreBusy(CarrelError):
    """The code `store_busy`."""


class ShuttingDown(CarrelError):
    """The code `shutting_down`."""


class VaultDamaged(CarrelError):
    """The code `vault_damaged`."""


class Internal(CarrelError):
    """The code `internal`."""


BY_CODE: dict[str, type[CarrelError]] = {
    "invalid_input": InvalidInput,
    "unauthenticated": Unauthenticated,
    "forbidden": Forbidden,
    "not_found": NotFound,
    "method_not_allowed": MethodNotAllowed,
    "sandbox_not_found": SandboxNotFound,
    "exec_not_found": ExecNotFound,
    "context_not_found": ContextNotFound,
    "file_not_found": FileNotFound,
    "volume_not_found": VolumeNotFound,
    "snapshot_not_found": SnapshotNotFound,
    "secret_not_found": SecretNotFound,
    "approval_not_found": ApprovalNotFound,
    "key_not_found": KeyNotFound,
    "export_not_found": ExportNotFound,
    "upload_not_found": UploadNotFound,
    "skill_not_found": SkillNotFound,
    "image_not_found": ImageNotFound,
    "image_invalid": ImageInvalid,
    "image_source_failed": ImageSourceFailed,
    "language_not_available": LanguageNotAvailable,
    "engine_not_available": EngineNotAvailable,
    "isolation_not_available": IsolationNotAvailable,
    "not_supported": NotSupported,
    "key_reused": KeyReused,
    "not_a_file": NotAFile,
    "not_a_directory": NotADirectory,
    "file_exists": FileExists,
    "directory_not_empty": DirectoryNotEmpty,
    "permission_denied": PermissionDenied,
    "wrong_state": WrongState,
    "precondition_failed": PreconditionFailed,
    "range_not_satisfiable": RangeNotSatisfiable,
    "too_large": TooLarge,
    "no_space": NoSpace,
    "limit_reached": LimitReached,
    "egress_denied": EgressDenied,
    "web_failed": WebFailed,
    "budget_exhausted": BudgetExhausted,
    "port_closed": PortClosed,
    "app_failed": AppFailed,
    "sandbox_gone": SandboxGone,
    "result_gone": ResultGone,
    "guest_lost": GuestLost,
    "engine_failed": EngineFailed,
    "store_busy": StoreBusy,
    "shutting_down": ShuttingDown,
    "vault_damaged": VaultDamaged,
    "internal": Internal,
}
