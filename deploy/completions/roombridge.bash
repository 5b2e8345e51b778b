# bash completion for roombridge(1)
_roombridge() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words=
    COMPREPLY=()
    case $previous in
    --config | --control | --out | --show-public | --secret | --headers | --body)
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
        ;;
    --state-dir)
        mapfile -t COMPREPLY < <(compgen -d -- "$current")
        return
        ;;
    --endpoint | --room | --received | --tolerance) return ;;
    esac
    if ((COMP_CWORD == 1)); then
        words="run check status dead-letters keygen verify version help"
    else
        case ${COMP_WORDS[1]} in
        run) words="--config --state-dir --control" ;;
        check) words="--config" ;;
        status) words="--json --control --state-dir" ;;
        dead-letters)
            words="--endpoint --room --all --out-of-order --control --state-dir"
            if ((COMP_CWORD == 2)); then words="list show retry export purge"; fi
            ;;
        keygen) words="--ed25519 --out --show-public" ;;
        verify)
            words="--secret --config --endpoint --headers --body --received --tolerance"
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            ;;
        help) words="run check status dead-letters keygen verify version" ;;
        esac
    fi
    local -a found
    mapfile -t found < <(compgen -W "$words" -- "$current")
    COMPREPLY+=("${found[@]}")
}
complete -o filenames -F _roombridge roombridge
