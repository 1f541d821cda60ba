"""What is known of file systems and disks."""

import shutil
from pathlib import Path

import pytest

from lazycache_storage import machine

MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
/dev/sdb1 /home/local/my\\040disk xfs rw 0 0
//server/share /mnt/share cifs rw 0 0
tmpfs /mnt/share tmpfs rw 0 0
lustre /homework lustre rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "ext4"),
        ("/var/cache", "ext4"),
        ("/home", "nfs4"),
        ("/home/me/.cache", "nfs4"),
        ("/home/local/my disk/cache", "xfs"),
        ("/homework/x", "lustre"),
        ("/mnt/share/x", "tmpfs"),
    ],
)
def test_the_file_system_is_that_of_the_innermost_and_last_mount(tmp_path: Path, path: str, kind: str) -> None:
    (tmp_path / "mounts").write_text(MOUNTS)
    assert machine.file_system(path, str(tmp_path / "mounts")) == kind


def test_an_unknown_file_system_is_no_network(tmp_path: Path) -> None:
    assert machine.file_system("/x", str(tmp_path / "missing")) == ""
    assert not machine.is_network(str(tmp_path))


def test_free_space_is_what_the_system_says(tmp_path: Path) -> None:
    usage = shutil.disk_usage(tmp_path)
    found = machine.space(str(tmp_path))
    assert found.total == usage.total
    # Others write to the disk meanwhile.
    assert abs(found.free - usage.free) < 1 << 30
