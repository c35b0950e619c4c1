# Completion of hearth(1) for bash. Sessions are asked of the gateway that
# runs; none is started for it.

_hearth_sessions()
{
    hearth session list 2>/dev/null | while read -r id _; do
        [ "$id" = ID ] || printf '%s\n' "$id"
    done
}

# What may follow a command: its options, or an operand.
_hearth_options()
{
    case $1 in
    'session create')
        echo '--profile --name --idle-timeout --time-limit --restart' \
            '--workspace --no-start --json' ;;
    'session list') echo '--all --json' ;;
    'session interrupt') echo '--kill --json' ;;
    'session show' | 'session keepalive') echo '--json' ;;
    exec) echo '--code --output-dir --timeout --json --no-start' ;;
    attach) echo '--no-start' ;;
    'notebook export') echo '--output --format' ;;
    'gateway info') echo '--json' ;;
    'gateway stop') echo '--end-sessions' ;;
    serve) echo '--config --set --log-level' ;;
    kernel) echo '--connection-file --profile --name' ;;
    doctor) echo '--config --json' ;;
    esac
}

# The value of the option before the cursor. Fails when it takes none.
_hearth_value()
{
    case $1 in
    --output-dir | -o | --workspace | -w)
        mapfile -t COMPREPLY < <(compgen -d -- "$2") ;;
    --config | --connection-file | --output | -f)
        mapfile -t COMPREPLY < <(compgen -f -- "$2") ;;
    --restart) mapfile -t COMPREPLY < <(compgen -W 'auto never' -- "$2") ;;
    --format) mapfile -t COMPREPLY < <(compgen -W 'ipynb md' -- "$2") ;;
    --log-level | -l)
        mapfile -t COMPREPLY < <(
            compgen -W 'error warning info debug' -- "$2") ;;
    --code | -c | --timeout | -t | --profile | -p | --name | -n | \
        --idle-timeout | --time-limit | --set | -s)
        COMPREPLY=() ;;
    *) return 1 ;;
    esac
}

_hearth()
{
    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} first=2
    local words

    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        words='exec session attach notebook gateway serve kernel doctor'
        mapfile -t COMPREPLY < <(
            compgen -W "$words --help --version" -- "$word")
        return
    fi
    case $command in
    session) words='create list show delete interrupt restart keepalive' ;;
    notebook) words='export' ;;
    gateway) words='info stop' ;;
    *) words= ;;
    esac
    if [ -n "$words" ]; then
        if [ "$COMP_CWORD" -eq 2 ]; then
            mapfile -t COMPREPLY < <(compgen -W "$words --help" -- "$word")
            return
        fi
        command="$command ${COMP_WORDS[2]}"
        first=3
    fi
    _hearth_value "${COMP_WORDS[COMP_CWORD - 1]}" "$word" && return
    if [[ $word == -* ]]; then
        words="$(_hearth_options "$command") --help"
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
        return
    fi
    case $command in
    exec)
        if [ "$COMP_CWORD" -gt "$first" ]; then
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
        fi ;;
    attach | 'session show' | 'session delete' | 'session interrupt' | \
        'session restart' | 'session keepalive' | 'notebook export') ;;
    *) return ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$(_hearth_sessions)" -- "$word")
}

complete -o filenames -F _hearth hearth
