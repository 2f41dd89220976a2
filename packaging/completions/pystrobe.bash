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

# The words that an option takes: an error names them. Behind --help nothing is begun.
_pystrobe_words() { # program, command, option
    "$1" "$2" "$3" '' --help </dev/null 2>&1 | sed -n '1s/^pystrobe: .* is one of \(.*\), not .*/\1/p' | tr -d ,
}

# The formats of files.
_pystrobe_formats() { # program
    "$1" report --help 2>/dev/null | sed -n '/^Formats/,/^$/s/^  \([a-z][a-z]*\) .*/\1/p'
}

# Processes that run a program called python, or that are called so.
_pystrobe_pids() {
    local entry
    for entry in /proc/[0-9]*; do
        [[ $(readlink "$entry/exe" 2>/dev/null) != *python* && $(cat "$entry/comm" 2>/dev/null) != *python* ]] || echo "${entry#/proc/}"
    done
}

# The services that the agent samples now, if it runs.
_pystrobe_services() { # program
    "$1" status --json 2>/dev/null | grep -oE '"service": "[^"]+"' | cut -d '"' -f 4 | sort -u
}

# What may stand as a word of its own behind the command, if that is no file.
_pystrobe_operands() { # program, command
    case $2 in
    help) _pystrobe_commands "$1" ;;
    burst) _pystrobe_services "$1" && _pystrobe_pids ;;
    dump) _pystrobe_pids ;;
    spool) "$1" spool --help 2>/dev/null | sed -n '1,/^$/s/.*\] \([a-z][a-z]*\).*/\1/p' ;;
    esac
}

_pystrobe_values() { # kind, what is typed, program, command, option
    local before=
    case $5 in
    -f | --format) compgen -W "$(_pystrobe_formats "$3")" -- "$2" && return ;;
    -S | --service) compgen -W "$(_pystrobe_services "$3")" -- "$2" && return ;;
    esac
    case $1 in
    FILE | PATH) compgen -f -- "$2" ;;
    DIR) compgen -d -- "$2" ;;
    PID) compgen -W "$(_pystrobe_pids)" -- "$2" ;;
    MODES) # several, with commas between them
        [[ $2 != *,* ]] || before=${2%,*},
        compgen -P "$before" -W "$(_pystrobe_words "$3" "$4" "$5")" -- "${2##*,}"
        ;;
    *) compgen -W "$(_pystrobe_words "$3" "$4" "$5")" -- "$2" ;;
    esac
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
        mapfile -t COMPREPLY < <(_pystrobe_values "$kind" "$word" "$program" "$command" "$before")
    elif [[ $word == -* ]]; then
        options=$(_pystrobe_options "$program" "$command" | grep -oE -- '--[a-z][a-z-]*|(^| )-[A-Za-z]')
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
    else
        options=$(_pystrobe_operands "$program" "$command")
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
        [[ -n $options ]] || mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}

complete -o filenames -F _pystrobe pystrobe
