#!/bin/bash
# Runs in the box as root: what an operator does with the package, and what must come of it.
# Prints "ok NAME" or "not ok NAME: why" for each scenario; after the first boot's last one the test cuts the power.
set -u
export LC_ALL=C SYSTEMD_PAGER='' SYSTEMD_COLORS=0
number=0
failure=

fail() { failure=${failure:-$*}; return 1; }

scenario() { # NAME: runs the function of that name
    failure=
    "$1" >"/var/log/$1.log" 2>&1 || fail "ended with $?"
    if [ -z "$failure" ]; then echo "ok $1"; else
        echo "not ok $1: $failure"
        tail -n 12 "/var/log/$1.log" | sed 's/^/  /'
        journalctl -u 'roombridge*' -n 12 -o cat | sed 's/^/  journal: /'
    fi
}

until_true() { # SECONDS COMMAND...
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.1
    done
}

property() { systemctl show -P "$1" "${2:-roombridge.service}"; }
is() { [ "$(property "$1" "${3:-roombridge.service}")" = "$2" ]; }
expect() { is "$@" || fail "$1 is $(property "$1" "${3:-roombridge.service}"), must be $2"; }
journal_has() { journalctl -u "${2:-roombridge.service}" -o cat | grep -qF -- "$1"; }

publish() { # COUNT: numbers go on where they were
    local end=$((number + $1))
    while [ $number -lt $end ]; do
        number=$((number + 1))
        curl -sSf -o /dev/null -H 'X-API-Key: roomhub-api-key' -d "{\"channel\":\"shop\",\"data\":{\"n\":$number}}" \
            http://127.0.0.1:8000/api/publish || return 1
    done
    echo $number >/var/number
}

# The first time that each event came; a gap has no number.
numbers() { grep -o '^[0-9]*' "$1" 2>/dev/null | awk '!seen[$1]++'; }
# Every number up to now came, and their first times are in order.
came() { numbers "$1" | cmp -s - <(seq "$number"); }
all_came() { until_true 15 came "$1" || fail "of 1..$number came: $(numbers "$1" | paste -sd' ' | tail -c 120)"; }
missing() { sort "$1" | comm -13 <(numbers /var/sink.http | sort -u) -; }
nothing_is_missing() { ! missing "$1" | grep -q .; }
start_hub() { systemd-run -q --unit=hub roomhub --config /etc/hub.json && until_true 10 curl -so /dev/null http://127.0.0.1:8000/; }
start_sink() { systemd-run -q --unit=sink python3 /usr/local/bin/sink.py && until_true 10 test -S /run/app/events.sock; }
state=/var/lib/private/roombridge

installs() {
    dpkg -i /opt/roombridge.deb || return 1
    [ "$(stat -c '%a %U' /etc/roombridge/credentials)" = "700 root" ] || fail "the credentials are not private"
    [ -e /etc/roombridge/config.example.json ] || fail "there is no model of a configuration"
    ! systemctl is-active -q roombridge.service || fail "it was started without a configuration"
    local said
    said=$(systemd-analyze verify --recursive-errors=yes /lib/systemd/system/roombridge{,@}.{service,socket} 2>&1) ||
        fail "systemd-analyze verify failed"
    [ -z "$said" ] || fail "systemd-analyze verify says: $said"
    roombridge version || return 1
}

refuses_a_wrong_configuration() {
    echo '{"servers": {}}' >/etc/roombridge/config.json
    ! systemctl start roombridge || fail "it started"
    expect ExecMainStatus 78
    expect NRestarts 0
    expect ActiveState failed
    journal_has '/etc/roombridge/config.json:1:13: servers: is empty' || fail "the journal does not say what is wrong"
}

starts_before_the_server() {
    cp /opt/config.json /etc/roombridge/config.json
    install -m 600 /opt/old-secret /etc/roombridge/credentials/app
    roombridge version && start_sink || return 1
    systemctl reset-failed roombridge
    systemctl enable --now roombridge || fail "it did not start"
    expect ActiveState active
    systemctl is-active -q roombridge.socket || fail "its socket is not there"
    until_true 10 journal_has 'no connection to the server' || fail "the journal does not tell of the server"
    start_hub
}

tells_the_drop_in_for_a_closed_socket() {
    until_true 15 journal_has 'rooms are joined' || until_true 5 journal_has 'room joined' || fail "no room was joined"
    publish 1 || return 1
    until_true 10 journal_has 'SupplementaryGroups=' || journalctl -u roombridge -o json --output-fields=HINT,MESSAGE | grep -qF 'SupplementaryGroups=' ||
        fail "the journal does not tell the drop-in"
    mkdir -p /etc/systemd/system/roombridge.service.d
    printf '[Service]\nSupplementaryGroups=%s\n' "$(stat -c %G /run/app/events.sock)" >/etc/systemd/system/roombridge.service.d/app.conf
    systemctl daemon-reload && systemctl restart roombridge || return 1
    all_came /var/sink.lines
}

delivers_to_http_and_to_a_socket() {
    publish 20 && all_came /var/sink.http && all_came /var/sink.lines
}

runs_in_its_sandbox() {
    local pid status
    pid=$(property MainPID)
    status=$(cat "/proc/$pid/status")
    grep -q '^Seccomp:.2' <<<"$status" || fail "no system call filter"
    grep -q '^CapEff:.0000000000000000' <<<"$status" || fail "it has capabilities"
    grep -q '^NoNewPrivs:.1' <<<"$status" || fail "it may gain privileges"
    [ "$(stat -c %U "/proc/$pid/environ")" = root ] || fail "it can be dumped by its own user"
    ! tr '\0' '\n' <"/proc/$pid/cmdline" | grep whsec || fail "a secret is among its arguments"
    ! journalctl -u roombridge | grep whsec || fail "a secret is in the journal"
}

answers_on_the_control_socket() {
    [ "$(stat -c '%a %U %G' /run/roombridge/control.sock)" = "660 root adm" ] || fail "the socket has other rights"
    roombridge dead-letters list || fail "dead-letters does not reach the service"
    roombridge status | grep -q app || fail "status does not show the endpoint"
    roombridge status --json | python3 -m json.tool >/dev/null || fail "status is no JSON"
}

loses_nothing_when_killed() {
    local restarts
    restarts=$(property NRestarts)
    for _ in 1 2 3; do
        publish 7 && kill -KILL "$(property MainPID)" && publish 7 || return 1
        until_true 10 is ActiveState active || fail "it was not started again"
        until_true 10 is NRestarts $((++restarts)) || fail "restarts are $(property NRestarts)"
    done
    all_came /var/sink.http && all_came /var/sink.lines
}

refuses_a_second_one() {
    systemd-run -q --wait --pipe -p DynamicUser=yes -p User=roombridge -p StateDirectory=roombridge \
        -p LoadCredential=secret:/etc/roombridge/credentials roombridge run --config /etc/roombridge/config.json
    [ $? = 69 ] || fail "a second one on the same state did not end with 69"
    expect ActiveState active
}

keeps_its_socket_over_a_restart() {
    local inode answer
    inode=$(stat -c %i /run/roombridge/control.sock)
    systemctl kill -s STOP roombridge
    roombridge dead-letters list >/run/answer 2>&1 &
    answer=$!
    systemctl kill -s KILL roombridge
    until_true 10 is ActiveState active
    systemctl restart roombridge
    [ "$(stat -c %i /run/roombridge/control.sock)" = "$inode" ] || fail "the socket was made anew"
    wait $answer
    roombridge dead-letters list || fail "the service does not answer after the restart"
}

owns_its_state_after_a_restart() {
    systemctl restart roombridge || return 1
    local user
    user=$(awk '/^Uid:/ { print $2 }' "/proc/$(property MainPID)/status")
    [ "$user" -ge 61184 ] || fail "it runs as user $user"
    [ -z "$(find $state ! -uid "$user")" ] || fail "not all of the state belongs to user $user"
    [ "$(stat -c %a $state)" = 700 ] || fail "the state can be read by others"
}

stops_with_a_hung_endpoint() {
    touch /run/sink.hang
    publish 3 || return 1
    local begin=${EPOCHREALTIME/./}
    systemctl stop roombridge
    local took=$(((${EPOCHREALTIME/./} - begin) / 1000))
    echo "stopping took $took ms"
    [ $took -le 6500 ] || fail "it took $took ms to stop"
    expect Result success
    rm /run/sink.hang
    systemctl start roombridge && all_came /var/sink.http
}

rotates_a_credential() {
    publish 1 && all_came /var/sink.http
    [ "$(tail -n1 /var/sink.http)" = "$number old" ] || fail "the request was not signed with the old secret"
    install -m 600 /opt/new-secret /etc/roombridge/credentials/app
    systemctl restart roombridge && publish 1 && all_came /var/sink.http
    [ "$(tail -n1 /var/sink.http)" = "$number new" ] || fail "the request was not signed with the new secret"
}

goes_on_without_the_journal() {
    systemctl kill -s STOP systemd-journald
    publish 10 && all_came /var/sink.http
    systemctl kill -s CONT systemd-journald
    systemctl restart systemd-journald
    systemctl restart hub 2>/dev/null || { systemctl stop hub; start_hub; }
    local since
    since=$(date +%s)
    systemctl restart roombridge
    until_true 10 sh -c "journalctl -u roombridge --since=@$since -o cat | grep -q started" || fail "no line after journald was restarted"
}

explains_itself_in_the_journal() {
    journalctl -x -u roombridge | grep -q 'Subject: RoomBridge: started' || fail "journalctl -x has no catalog"
    local id
    id=$(journalctl -u roombridge -o json | python3 -c 'import json,sys; print(sum("MESSAGE_ID" in json.loads(l) for l in sys.stdin))')
    [ "$id" -gt 5 ] || fail "only $id lines have a MESSAGE_ID"
}

takes_a_good_file_and_no_bad_one_on_reload() {
    local pid
    pid=$(property MainPID)
    systemctl reload roombridge || fail "a good file cannot be reloaded"
    cp /etc/roombridge/config.json /run/good.json
    echo '{' >/etc/roombridge/config.json
    systemctl reload roombridge
    until_true 10 journal_has '/etc/roombridge/config.json:' || fail "the bad file is not named"
    cp /run/good.json /etc/roombridge/config.json
    [ "$(property MainPID)" = "$pid" ] || fail "it was started anew"
    expect ActiveState active
    publish 2 && all_came /var/sink.http
}

is_restarted_by_the_watchdog() {
    mkdir -p /run/systemd/system/roombridge.service.d
    printf '[Service]\nWatchdogSec=2s\n' >/run/systemd/system/roombridge.service.d/watchdog.conf
    systemctl daemon-reload && systemctl restart roombridge || return 1
    local pid
    pid=$(property MainPID)
    sleep 3
    [ "$(property MainPID)" = "$pid" ] || fail "it does not feed its watchdog"
    kill -STOP "$pid"
    publish 2 || return 1
    until_true 30 sh -c "[ \$(systemctl show -P MainPID roombridge) != $pid ] && systemctl is-active -q roombridge" ||
        fail "a stopped process was not restarted"
    journalctl -u roombridge -o cat | grep -q 'Watchdog timeout' || fail "the watchdog did not do it"
    all_came /var/sink.http
    rm -r /run/systemd/system/roombridge.service.d
    systemctl daemon-reload
}

runs_twice_and_fills_a_disk() {
    sed 's/"shop"/"small"/; s/, "lines"//' /opt/config.json >/etc/roombridge/small.json
    mkdir -p /var/lib/private/roombridge-small
    ln -sfn private/roombridge-small /var/lib/roombridge-small
    mount -t tmpfs -o size=12m tmpfs /var/lib/private/roombridge-small
    touch /run/sink.hang
    systemctl start roombridge@small || fail "the instance did not start"
    local n=$number text
    text=$(head -c 60000 /dev/zero | tr '\0' x)
    : >/run/numbers
    for _ in $(seq 260); do
        n=$((n + 1))
        curl -sSf -o /dev/null -H 'X-API-Key: roomhub-api-key' -d "{\"channel\":\"small\",\"data\":{\"n\":$n,\"x\":\"$text\"}}" \
            http://127.0.0.1:8000/api/publish && echo $n >>/run/numbers
    done
    until_true 10 sh -c 'journalctl -u roombridge@small -o cat | grep -qiE "disk|full|space"' || fail "the journal says nothing of a full disk"
    rm /run/sink.hang
    mount -o remount,size=64m /var/lib/private/roombridge-small
    until_true 30 nothing_is_missing /run/numbers || fail "$(missing /run/numbers | wc -l) events of the full disk did not come"
    expect NRestarts 0 roombridge@small.service
    systemctl stop roombridge@small roombridge@small.socket
    umount /var/lib/private/roombridge-small
    local rest
    rest=$(awk -v n=$number '$1 <= n' /var/sink.http)
    echo "$rest" >/var/sink.http
}

upgrades_and_keeps_its_state() {
    local pid store socket
    pid=$(property MainPID)
    socket=$(stat -c %i /run/roombridge/control.sock)
    store=$(stat -c %i $state/store.db)
    dpkg-deb -R /opt/roombridge.deb /run/next && sed -i 's/^Version: .*/Version: 99.0-1/' /run/next/DEBIAN/control &&
        dpkg-deb -Zgzip -z1 -b /run/next /run/next.deb && dpkg -i /run/next.deb || return 1
    expect ActiveState active
    [ "$(property MainPID)" != "$pid" ] || fail "the new version does not run"
    [ "$(stat -c %i /run/roombridge/control.sock)" = "$socket" ] || fail "the control socket was made anew"
    [ "$(stat -c %i $state/store.db)" = "$store" ] || fail "the state was made anew"
    publish 3 && all_came /var/sink.http
}

leaves_its_state_when_removed_and_not_when_purged() {
    dpkg -r roombridge || return 1
    ! systemctl is-active -q roombridge.service || fail "it still runs"
    [ -n "$(ls $state)" ] || fail "the state is gone"
    [ -e /etc/roombridge/config.json ] || fail "the configuration is gone"
    dpkg -i /run/next.deb && systemctl start roombridge && publish 2 && all_came /var/sink.http
    dpkg -P roombridge || return 1
    for path in $state /usr/bin/roombridge /lib/systemd/system/roombridge.service; do
        [ ! -e $path ] || fail "$path is still there"
    done
    [ ! -L /var/lib/roombridge ] || fail "the link to the state is still there"
}

power_is_cut() {
    touch /run/sink.hang
    publish 12 || return 1
    # In the store, not yet delivered to the one endpoint: the other had them after they were committed.
    all_came /var/sink.lines
}

comes_back_after_a_power_cut() {
    read -r number </var/number
    until_true 20 is ActiveState active || fail "it was not started at boot"
    start_sink || return 1
    all_came /var/sink.http && all_came /var/sink.lines
}

if [ ! -e /var/booted ]; then
    touch /var/booted
    for name in installs refuses_a_wrong_configuration starts_before_the_server tells_the_drop_in_for_a_closed_socket \
        delivers_to_http_and_to_a_socket runs_in_its_sandbox answers_on_the_control_socket loses_nothing_when_killed \
        refuses_a_second_one keeps_its_socket_over_a_restart owns_its_state_after_a_restart stops_with_a_hung_endpoint \
        rotates_a_credential goes_on_without_the_journal explains_itself_in_the_journal \
        takes_a_good_file_and_no_bad_one_on_reload is_restarted_by_the_watchdog runs_twice_and_fills_a_disk power_is_cut; do
        scenario $name
    done
    echo "cut the power"
    sleep 60
else
    for name in comes_back_after_a_power_cut upgrades_and_keeps_its_state leaves_its_state_when_removed_and_not_when_purged; do
        if [ $name = upgrades_and_keeps_its_state ]; then start_hub; fi
        scenario $name
    done
fi
