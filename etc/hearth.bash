# Completion of hearth(1) for bash. The program itself says what may stand at
# the cursor, from the tables that its --help comes from; a line that begins
# with a colon asks for what the shell knows better.

_hearth()
{
    local word=${COMP_WORDS[COMP_CWORD]} line
    local -a found=()

    [ "$word" = = ] && word= # bash takes it for a word of its own
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
        :files) mapfile -t found < <(compgen -f -- "$word") ;;
        :folders) mapfile -t found < <(compgen -d -- "$word") ;;
        *) found=("$line") ;;
        esac
        COMPREPLY+=("${found[@]}")
    done < <("${COMP_WORDS[0]}" complete -- \
        "${COMP_WORDS[@]:1:COMP_CWORD-1}" "$word" 2>/dev/null)
}

complete -o filenames -F _hearth hearth
