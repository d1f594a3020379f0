# Completion of forescale's command lines for fish; what may stand there the program says itself.
function __forescale_candidates
    set -l before (commandline -opc)
    $before[1] complete -- $before[2..] 2>/dev/null
end
complete -c forescale -f -n 'test (count (__forescale_candidates)) -gt 0' -a '(__forescale_candidates)'
