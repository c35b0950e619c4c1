# Completion of hearth(1) for fish. The program itself says what may stand at
# the cursor, from the tables that its --help comes from; a line that begins
# with a colon asks for what the shell knows better.

function __hearth_complete
    set -l words (commandline -opc)
    set -l program $words[1]
    set -l word (commandline -ct)
    set -l before '' # what is written of the same word: an option and its =
    set -e words[1]
    if string match -q -- '--*=*' $word
        set -l parts (string split -m 1 = -- $word)
        set before "$parts[1]="
        set -a words $parts[1] =
        set word $parts[2]
    end
    for line in ($program complete -- $words "$word" 2>/dev/null)
        switch $line
            case :files
                printf '%s\n' $before(__fish_complete_path "$word")
            case :folders
                printf '%s\n' $before(__fish_complete_directories "$word" '')
            case '*'
                printf '%s\n' "$before$line"
        end
    end
end

complete -c hearth -f -a '(__hearth_complete)'
