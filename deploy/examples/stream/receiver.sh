#!/bin/sh
# A receiver for RoomBridge with "ack": "line": the connection is standard input and output, one event a line.
# Appends each line to the file that is its argument; ok says that it is there, and on the disk. The same event may come
# twice: whoever reads the file drops a second line with the same "id".
#
#     systemd-socket-activate --accept --inetd --listen=/run/app/rooms.sock ./receiver.sh /var/lib/app/rooms.ndjson
#     socat UNIX-LISTEN:/run/app/rooms.sock,fork EXEC:"./receiver.sh /var/lib/app/rooms.ndjson"
#
# Or a unit `rooms.socket` with Accept=yes, and `rooms@.service` with StandardInput=socket.
set -eu
file=${1:?the file to append to}
while IFS= read -r line; do
    printf '%s\n' "$line" >>"$file"
    sync "$file"
    echo ok
done
