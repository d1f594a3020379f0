#compdef forescale
# Completion of forescale's command lines for zsh; what may stand there the program says itself.
local -a candidates
candidates=("${(@f)$("${words[1]}" complete -- "${(@)words[2,CURRENT-1]}" 2>/dev/null)}")
candidates=("${(@)candidates:#}")
candidates=("${(@)candidates//:/\\:}")
candidates=("${(@)candidates/$'\t'/:}")
if (( $#candidates )); then
  _describe candidate candidates
else
  _files
fi
