#!/usr/bin/env bash
# apply_page.sh PAGE SOURCE OUT: does in OUT what the code blocks of PAGE say about files of SOURCE.
#    ```c file=PATH before=TEXT   the block goes before the first line of PATH that begins with TEXT
#    ```c file=PATH               the block is the whole of PATH, which is new
set -e
awk -v source="$2" -v out="$3" '
   function put(line) { kept = kept line "\n" }
   function apply(   line, found) {
      kept = ""
      if (before == "") {
         put(substr(block, 1, length(block) - 1))
      } else {
         from = system("test -e \"" out "/" file "\"") == 0 ? out "/" file : source "/" file
         while ((getline line < from) > 0) {
            if (!found && index(line, before) == 1) {
               found = 1
               put(substr(block, 1, length(block) - 1))
            }
            put(line)
         }
         close(from)
         if (!found) {
            print "no line of " file " begins with: " before > "/dev/stderr"
            exit 1
         }
      }
      dir = out "/" file
      sub("/[^/]*$", "", dir)
      system("mkdir -p \"" dir "\"")
      printf "%s", kept > (out "/" file)
      close(out "/" file)
   }
   /^```c file=/ {
      file = $2
      sub("^file=", "", file)
      before = match($0, / before=/) ? substr($0, RSTART + RLENGTH) : ""
      block = ""
      inside = 1
      next
   }
   /^```/ && inside { apply(); inside = 0; next }
   inside { block = block $0 "\n" }
' "$1"
