#!/usr/bin/env bash
# Builds and runs the tests: test.sh [LAYER...]. A layer is a target check-LAYER
# of the Makefile (tests/Makemodule.am says what is in it), some of them in a
# build of their own: those run one after the other beside the others, which
# mostly wait. What automake and the virtual machine count is added up at the
# end. test.sh --layers prints what there is.
# shellcheck source=build-aux/dev/lib.sh
. "$(dirname "$0")/lib.sh"

# What runs without a name, in this order.
readonly LAYERS=(
    checks unit sandbox kernel system http jc7 peers docs examples clang asan
    tsan fuzz
)
# And this one only when it is named.
readonly SLOW_LAYERS=(vm)
# Each in a build of its own, so that others can run beside it.
readonly OWN_BUILDS=(clang asan tsan fuzz)
# What a run of layers counts, "PASSED FAILED SKIPPED" a line; a file each.
readonly COUNTS=$LOGS/counts.$$
counts=$COUNTS.main
# And what was shown of its failures.
readonly FAILURES=$LOGS/failures.$$

# is_in WORD LIST...
is_in() {
    local word
    for word in "${@:2}"; do
        [ "$word" = "$1" ] && return 0
    done
    return 1
}

is_layer() {
    is_in "$1" "${LAYERS[@]}" "${SLOW_LAYERS[@]}"
}

# The summary that automake's test harness prints.
count_automake() {
    awk '
        $1 == "#" && $2 ~ /^(PASS|XFAIL):$/ { passed += $3 }
        $1 == "#" && $2 == "SKIP:" { skipped += $3 }
        $1 == "#" && $2 ~ /^(FAIL|XPASS|ERROR):$/ { failed += $3 }
        END { print passed + 0, failed + 0, skipped + 0 }
    ' "$1" >>"$counts"
}

failures() {
    awk '{ failed += $2 } END { print failed + 0 }' "$counts"
}

# Of a pytest what it says of each failure, of any other its end.
show_failures() {
    local result
    while read -r result; do
        grep -qE '^:test-result: (FAIL|ERROR|XPASS)' "$result" || continue
        printf -- '-- %s\n' "${result%.trs}"
        case $result in
        */layers/*) sed -n '/^not ok/,/^ok/p' "${result%.trs}.log" | tail -n 400 ;;
        esac
        tail -n 30 "${result%.trs}.log"
    done < <(find "$1/tests" "$1/build-aux" -name '*.trs' -newer "$2")
}

# check CONFIGURATION FOLDER TARGET [COMMAND...]: `make TARGET` under COMMAND.
check() {
    local folder=$2 target=$3 programs=(all) log status=0
    log=$LOGS/$folder-$target.log
    case $target in
    check-fuzz) programs=(fuzz) ;;
    check-unit | check-sandbox | check-programs | check-sanitized)
        programs=(check TESTS=)
        ;;
    esac
    # The programs first, alone in the folder; then the tests, beside others.
    "$DEV/build.sh" "$1" "${programs[@]}" >"$log" 2>&1 || {
        tail -n 20 "$log"
        return 1
    }
    touch "$log.begin"
    {
        "${@:4}" make -C "$folder" --no-print-directory "$target" 2>&1 ||
            echo "make ended with status $?"
    } | tee "$log" | grep --line-buffered -E \
        '^(PASS|FAIL|SKIP|XPASS|XFAIL|ERROR|make.*\*\*\*|.*error:)' || true
    count_automake "$log"
    if ! grep -q '^# TOTAL:' "$log"; then
        tail -n 20 "$log"
        status=1
    elif grep -qE '^# (FAIL|ERROR|XPASS): +[1-9]' "$log"; then
        show_failures "$folder" "$log.begin" | tee -a "$FAILURES"
    fi
    rm -f "$log.begin"
    tail -n 1 "$log" | grep -q '^make ended with status' && status=1
    return "$status"
}

layer() {
    local calm=() status=0
    case $1 in
    kernel | system) "$DEV/deps.sh" newer ;;&
    system)
        HEARTH_BEFORE=$("$DEV/before.sh")
        export HEARTH_BEFORE
        ;;
    jc7 | peers) "$DEV/deps.sh" "$1" ;;
    esac
    case $1 in
    clang) check clang build-clang check-programs ;;
    asan) check asan build-asan check-sanitized ;;
    tsan)
        # clang 14's ThreadSanitizer cannot map its shadow when the kernel
        # randomizes more than 28 bits of addresses (vm.mmap_rnd_bits).
        calm=(setarch "$(uname -m)" --addr-no-randomize)
        "${calm[@]}" true 2>/dev/null || calm=()
        check tsan build-tsan check-programs "${calm[@]}"
        ;;
    fuzz) check fuzz build-fuzz check-fuzz ;;
    vm)
        "$DEV/vm.sh" "${@:2}" || status=$?
        sed -n 's/^vm: \([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) sk.*/\1 \2 \3/p' \
            "$LOGS/vm.log" >>"$counts"
        return "$status"
        ;;
    *) check gcc build "check-$1" ;;
    esac
}

# In a few lines at the end of the output: what was shown of each failure may
# stand thousands of lines above.
summarize_failures() {
    [ -s "$FAILURES" ] || return 0
    say 'what failed'
    grep -aE '^(-- |not ok |# E  |FAIL: )|(: error|Sanitizer): ' "$FAILURES" |
        cut -c 1-300 | head -n 120 || true
}

# A layer that ends badly without having counted a failure is itself one.
run_layer() {
    local status=0 before
    before=$(failures)
    say "$1"
    layer "$@" &
    wait "$!" || status=$?
    if [ "$status" -ne 0 ] && [ "$(failures)" -eq "$before" ]; then
        printf 'FAIL: layer %s ended with status %s\n' "$1" "$status" |
            tee -a "$FAILURES"
        echo '0 1 0' >>"$counts"
    fi
}

# Each line of these says which layer it is of.
run_own_builds() {
    local name
    counts=$COUNTS.own
    for name in "$@"; do
        run_layer "$name" 2>&1 | sed -u "s/^/$name: /"
    done
}

case "${1:-} ${2:-}" in
'--layers '*)
    echo "${LAYERS[@]}"
    exit
    ;;
'sandbox --without') exec "$DEV/hostile.sh" "${@:2}" ;;
esac
layers=("$@")
parts=()
# What follows are parts of it.
if [ "${1:-}" = vm ] && ! is_layer "${2:-vm}"; then
    layers=(vm)
    parts=("${@:2}")
fi
[ "$#" -gt 0 ] || layers=("${LAYERS[@]}")
for name in "${layers[@]}"; do
    is_layer "$name" ||
        die "there is no layer $name; there are: ${LAYERS[*]} ${SLOW_LAYERS[*]}"
done

unset HEARTH # what is tested is what is built here
"$DEV/deps.sh" test
"$DEV/build.sh" gcc all
mkdir -p "$LOGS"
trap 'rm -f "$COUNTS".* "$FAILURES"' EXIT
: >"$COUNTS.main"
: >"$COUNTS.own"
own=()
others=()
for name in "${layers[@]}"; do
    if is_in "$name" "${OWN_BUILDS[@]}"; then
        own+=("$name")
    else
        others+=("$name")
    fi
done
run_own_builds "${own[@]}" &
beside=$!
for name in "${others[@]}"; do
    run_layer "$name" "${parts[@]}"
done
wait "$beside"
summarize_failures
cat "$COUNTS".* | awk '{ p += $1; f += $2; s += $3 }
    END { printf "\n%d passed, %d failed, %d skipped\n", p, f, s
          exit f > 0 }'
