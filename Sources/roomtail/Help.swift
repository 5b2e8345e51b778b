/// What `roomtail --help` prints.
enum Help {
    static let text = """
        usage: roomtail [OPTIONS] URL ROOM...

        Joins rooms and prints what happens in them, a line each, until SIGINT or SIGTERM, or until
        nobody reads its output any more. URL is that of the server's WebSocket, such as
        ws://127.0.0.1:8000/connection/websocket.

          --event NAME         print events of that name only; may be given again
          --history N          begin with the newest N events that a room keeps
          --state FILE         keep in FILE how far each room was printed; the next start goes on
                               there, and what was missed comes first
          --json               a JSON object a line: what it does where the output is no terminal
          --text               a line for people: what it does on a terminal, there in colour
                               unless NO_COLOR is set
          --auth URL           the route that gives tokens for rooms
          --header-file FILE   headers for requests to it, one Name: value a line
          --header NAME:VALUE  the same for what is no secret: other users of this machine see it
          --token-file FILE    the connection token
          --help, -h           this
          --version            the version

        FILE may be /dev/stdin, or <(command) in a shell that has it.

        exit status: 0 ended as asked   64 command line   66 a file that it names cannot be used
                     69 no room is left that it may follow   74 output cannot be written
        More: man roomtail
        """
}
