# SPDX-License-Identifier: Apache-2.0
"""Makes a tar file with Python's tarfile and prints the positions of the members' content.

Usage: make_tar.py FILE ustar|gnu|pax. Reads lines NAME<tab>CONTENT for files, "NAME/" for folders, and "NAME -> TARGET"
for links. Prints a line NAME<tab>OFFSET<tab>BYTES for every regular file.
"""
import io
import sys
import tarfile

path, form = sys.argv[1:]
formats = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}
with tarfile.open(path, "w", format=formats[form]) as out:
    for line in sys.stdin.buffer.read().decode().splitlines():
        if " -> " in line:
            member = tarfile.TarInfo(line.split(" -> ")[0])
            member.type, member.linkname = tarfile.SYMTYPE, line.split(" -> ")[1]
            out.addfile(member)
        elif line.endswith("/"):
            member = tarfile.TarInfo(line)
            member.type = tarfile.DIRTYPE
            out.addfile(member)
        else:
            name, content = line.split("\t")
            member = tarfile.TarInfo(name)
            member.size = len(content.encode())
            out.addfile(member, io.BytesIO(content.encode()))
with tarfile.open(path) as made:
    for member in made:
        if member.isreg():
            sys.stdout.buffer.write(f"{member.name}\t{member.offset_data}\t{member.size}\n".encode())
