# SPDX-License-Identifier: Apache-2.0
# fish completion for pystrobe. Commands and options are those that the installed program's own
# --help names, so that there is no second list of them here.

# The commands, with what each does behind a tab.
function __pystrobe_commands
    pystrobe --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z]*\) */\1\t/p'
end

# The options of the command that is typed, with what each does behind a tab.
function __pystrobe_options
    set -l words (commandline -opc)
    pystrobe $words[2] --help </dev/null 2>/dev/null | sed -n 's/^ \{2,\}\(-.*\)/\1/p' | while read -l line
        set -l names (string split -m 1 '  ' -- $line)
        set -l text (string trim -- "$names[2]")
        for name in (string match -ar -- '--?[A-Za-z][a-z-]*' $names[1])
            printf '%s\t%s\n' $name $text
        end
    end
end

# What may stand behind the option that is typed last, if it is not a file.
function __pystrobe_values
    set -l words (commandline -opc)
    set -l option $words[-1]
    string match -q -- '-*' $option; or return
    switch (string replace -r '^-+' '' -- $option)
        case f format
            pystrobe report --help | sed -n '/^Formats/,/^$/s/^  \([a-z][a-z]*\) .*/\1/p'
        case S service
            __pystrobe_services
        case p pid
            __pystrobe_pids
        case '*' # an error names the words that it takes; behind --help nothing is begun
            set -l typed (string match -r '^.*,' -- (commandline -ct)) # of several, with commas between them
            pystrobe $words[2] $option '' --help </dev/null 2>&1 |
                sed -n '1s/^pystrobe: .* is one of \(.*\), not .*/\1/p' | string split ', ' | string replace -r '^' -- "$typed"
    end
end

# Processes that run a program called python, or that are called so.
function __pystrobe_pids
    for entry in (string match -r '^/proc/[0-9]+$' /proc/*)
        if string match -q '*python*' -- (readlink $entry/exe 2>/dev/null) (cat $entry/comm 2>/dev/null)
            string replace /proc/ '' $entry
        end
    end
end

# The services that the agent samples now, if it runs.
function __pystrobe_services
    pystrobe status --json 2>/dev/null | string match -ar '"service": "[^"]+"' | string split -f 4 '"' | sort -u
end

# What may stand as a word of its own behind the command, if that is no file.
function __pystrobe_operands
    set -l words (commandline -opc)
    string match -q -- '-*' $words[-1]; and return
    switch $words[2]
        case help
            __pystrobe_commands
        case burst
            __pystrobe_services
            __pystrobe_pids
        case dump
            __pystrobe_pids
        case spool
            pystrobe spool --help 2>/dev/null | sed -n '1,/^$/s/.*\] \([a-z][a-z]*\).*/\1/p'
    end
end

# True before the second word is there: the command is.
function __pystrobe_needs_command
    test (count (commandline -opc)) -eq 1
end

# True behind "--", where another program's command line stands.
function __pystrobe_in_other_command
    contains -- -- (commandline -opc)
end

# What may stand there, as that program's completion has it.
function __pystrobe_other_command
    set -l words (commandline -opc) (commandline -ct)
    set -l dashes (contains -i -- -- $words)
    complete -C (string join -- ' ' $words[(math $dashes + 1)..-1])
end

complete -c pystrobe -n __pystrobe_needs_command -f -a '(__pystrobe_commands)'
complete -c pystrobe -n __pystrobe_needs_command -f -l help -d 'what there is'
complete -c pystrobe -n __pystrobe_needs_command -f -l version -d 'which pystrobe this is'
complete -c pystrobe -n 'not __pystrobe_needs_command; and not __pystrobe_in_other_command' -a '(__pystrobe_options)'
complete -c pystrobe -n 'not __pystrobe_needs_command; and not __pystrobe_in_other_command' -a '(__pystrobe_values)'
complete -c pystrobe -n 'not __pystrobe_needs_command; and not __pystrobe_in_other_command' -a '(__pystrobe_operands)'
complete -c pystrobe -n __pystrobe_in_other_command -a '(__pystrobe_other_command)'
