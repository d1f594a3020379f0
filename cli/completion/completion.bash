# Completion of forescale's command lines for bash; what may stand there the program says itself.
_forescale() {
  local word current=$2
  local -a before=()
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == "=" || -z $word ]] || before+=("$word")  # bash takes --platform=kesch for three words
  done
  [[ $current == "=" ]] && current=
  mapfile -t COMPREPLY < <(compgen -W "$("$1" complete -- "${before[@]}" 2>/dev/null | cut -f 1)" \
    -- "$current")
}
complete -o default -F _forescale forescale
