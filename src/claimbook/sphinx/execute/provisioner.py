"""Where the sockets are over which a kernel is spoken to."""

import tempfile
from typing import Any

from jupyter_client.provisioning.local_provisioner import LocalProvisioner


class FileProvisioner(LocalProvisioner):
    """Starts kernels as usual, at socket files of their own.

    Jupyter would choose numbers of ports that are free, and the kernel takes them a moment later:
    in a build with several kernels, or beside a claim that opens ports, one may be gone by then.
    """

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        """Names the files, as short as a socket's path has to be."""
        manager: Any = self.parent
        manager.transport, manager.ip = "ipc", f"{tempfile.gettempdir()}/{self.kernel_id[:8]}"
        return await super().pre_launch(**kwargs)
