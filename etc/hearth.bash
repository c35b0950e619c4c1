# Completion of hearth(1) for bash. The program itself says what may stand at
# the cursor, from the tables that its --help comes from; a line that begins
# with a colon asks for what the shell knows better.

_hearth()
{
    local rest=${COMP_LINE#*"${COMP_WORDS[0]}"} word='' before='' line i
    local quotes="[\"'\\\\]" # they are not of the names that they quote
    local -a words=() found=()

    # bash takes process:3 for three words, and replaces the last of them.
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $rest == [![:space:]]* && ($word == :* || $before == *:) ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
        rest=${rest#*"$word"}
        before=$word
    done
    [[ $word == :* ]] && word=''
    before=${words[-1]%"$word"}
    word=${words[-1]}
    unset 'words[-1]'
    [ "$word" = = ] && word='' # bash takes it for a word of its own
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
        :files) mapfile -t found < <(compgen -f -- "$word") ;;
        :folders) mapfile -t found < <(compgen -d -- "$word") ;;
        *) found=("$line") ;;
        esac
        [[ $line == :* ]] && compopt -o filenames 2>/dev/null
        COMPREPLY+=("${found[@]#"$before"}")
    done < <("${COMP_WORDS[0]}" complete -- \
        "${words[@]//$quotes/}" "${word//$quotes/}" 2>/dev/null)
}

complete -F _hearth hearth
