#!/bin/sh
# Prints the list of all tables of routes as C: route-tables.sh FILE... finds
# each `const route_t NAME_routes[] = {` in these sources.
set -eu
names=$(sed -n 's/^const route_t \([a-z0-9_]*_routes\)\[\] = {$/\1/p' "$@")
if [ -z "$names" ]; then
    echo "no table of routes in $*" >&2
    exit 1
fi
echo '/* Made by build-aux/route-tables.sh. */'
echo '#include "gateway/http/server/routes.h"'
echo
# shellcheck disable=SC2086
printf 'extern const route_t %s[];\n' $names
printf '\nconst route_t *const routes_tables[] = {\n'
# shellcheck disable=SC2086
printf '    %s,\n' $names
printf '    NULL,\n};\n'
