#!/usr/bin/env bash
# Programs of one C# file (.NET 10): a file named like the package that it uses cannot be built.
# Guess: the name of the file is a matter of taste, as it is for a script of Node.js or Python.
# Seen with .NET SDK 10.0.401 and Marten 9.58.0: the file's name becomes the project's name, so `marten.cs` with
# `#:package Marten@9.58.0` depends on itself: error NU1108, a cycle, whatever the case of the letters. The error names a
# project file that nobody wrote. The same file under another name builds.
set -euo pipefail
cd "$(mktemp -d)"
export MSBUILDDISABLENODEREUSE=1 DOTNET_CLI_TELEMETRY_OPTOUT=1
cat >marten.cs <<'CS'
#:package Marten@9.58.0
System.Console.WriteLine(typeof(Marten.DocumentStore).Name);
CS
cp marten.cs with-marten.cs
for file in marten.cs with-marten.cs; do
  if dotnet build "$file" >build.log 2>&1; then echo "$file: built"; else echo "$file: $(grep -o 'NU[0-9]*' build.log | sort -u)"; fi
done | tee seen.txt
diff seen.txt - <<'TXT'
marten.cs: NU1108
with-marten.cs: built
TXT
