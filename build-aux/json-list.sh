#!/bin/sh
# Prints the values of JSON files as one array: json-list.sh FILE...
set -eu
separator='['
for file in "$@"; do
    echo "$separator"
    cat "$file"
    separator=','
done
echo ']'
