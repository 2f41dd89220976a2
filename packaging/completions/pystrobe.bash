# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# bash completion for pystrobe. Commands and options are those that the installed program's own
# --help names, so that there is no second list of them here.

# The commands, one a line.
_pystrobe_commands() {
    "$1" --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z]*\) .*/\1/p'
}

# The options of a command as its help spells them, one a line: "-o, --output FILE".
_pystrobe_options() {
    "$1" "$2" --help </dev/null 2>/dev/null | sed -n 's/^ \{2,\}\(-.*\)/\1/p' | sed 's/  .*//'
}

# What may stand behind an option: the word that its help has for it, or nothing.
_pystrobe_kind() { # program, command, option
    _pystrobe_options "$1" "$2" | grep -E -- "(^|, )$3([ ,=]|\$)" | grep -oE '[ =][A-Z]+' | head -n 1 | tr -d ' ='
}

_pystrobe_values() { # kind, what is typed
    case $1 in
    FILE | PATH) compgen -f -- "$2" ;;
    DIR) compgen -d -- "$2" ;;
    PID) compgen -W "$(cd /proc && echo [0-9]*)" -- "$2" ;;
    esac # others cannot be guessed
}

_pystrobe() {
    local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]} options kind i

    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$(_pystrobe_commands "$program") --help --version" -- "$word")
        return
    fi
    for ((i = 2; i < COMP_CWORD; i++)); do
        [[ ${COMP_WORDS[i]} == -- ]] || continue
        # Behind "--": a command line of its own.
        ((i + 1 == COMP_CWORD)) && mapfile -t COMPREPLY < <(compgen -c -- "$word")
        [[ ${#COMPREPLY[@]} != 0 ]] || mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
    done
    [[ $before != -?* ]] || kind=$(_pystrobe_kind "$program" "$command" "$before")
    if [[ -n $kind ]]; then
        mapfile -t COMPREPLY < <(_pystrobe_values "$kind" "$word")
    elif [[ $word == -* ]]; then
        options=$(_pystrobe_options "$program" "$command" | grep -oE -- '--[a-z][a-z-]*|(^| )-[A-Za-z]')
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}

complete -o filenames -F _pystrobe pystrobe
