/// The texts of `roombridge help`.
enum Help {
    static func text(_ command: Invocation.Command?) -> String {
        switch command {
        case nil, .help: overview
        case .run: run
        case .check: check
        case .status: status
        case .deadLetters: deadLetters
        case .keygen: keygen
        case .verify: verify
        case .version: "usage: roombridge version\n\nPrints the version of RoomBridge and of the libraries it uses."
        }
    }

    private static let overview = """
        usage: roombridge COMMAND [OPTIONS]

        RoomBridge joins rooms on a realtime server and hands every event to local programs: at least once, in order per
        room, through crashes, restarts and outages on either side.

        commands:
          run           joins the rooms and delivers their events until SIGTERM
          check         reads the configuration and says what is wrong with it or what it would do
          status        shows how the running service is doing: its servers, rooms, endpoints and what waits
          dead-letters  lists, shows, sends again, exports and removes events that endpoints refused for good
          keygen        makes a signing secret
          verify        checks the signature of a captured request
          version       prints versions
          help          prints this, or more about one command: roombridge help run

        exit codes:
          0 done   1 verify: not right   64 command line   69 another process uses the state directory, or
          none does and a command needs it   73 state cannot be created   74 reading or writing failed   78 configuration
        """

    private static let run = """
        usage: roombridge run [--config FILE] [--state-dir DIR] [--control PATH]

        Joins the rooms of the configuration and delivers their events until SIGTERM or SIGINT; then finishes the
        deliveries that are in flight for at most 5 seconds. A second signal ends it at once; nothing is lost by that.
        SIGHUP reads the configuration again and says whether it is good; a changed one counts from the next start on.

          --config FILE     the configuration (\(Invocation.defaultConfig))
          --state-dir DIR   where events and positions are kept ($STATE_DIRECTORY, else /var/lib/roombridge)
          --control PATH    the socket for commands such as dead-letters (a socket that systemd passes on, else
                            control.sock in the state directory)
        """

    private static let status = """
        usage: roombridge status [--json] [--control PATH] [--state-dir DIR]

        Shows how the running service is doing: whether it is connected, what waits, which endpoint holds, since when, and
        what comes next. Colours only on a terminal, and not with NO_COLOR.

          --json            one JSON object, for programs
          --control PATH    the service's control socket
          --state-dir DIR   where it is unless --control says so (/run/roombridge/control.sock, else control.sock in
                            $STATE_DIRECTORY or /var/lib/roombridge)
        """

    private static let deadLetters = """
        usage: roombridge dead-letters list [WHICH]
               roombridge dead-letters show NUMBER
               roombridge dead-letters retry NUMBER... | WHICH [--out-of-order]
               roombridge dead-letters export [WHICH]
               roombridge dead-letters purge NUMBER... | WHICH

        Events that an endpoint refused for good stay on disk until somebody does something with them. The service has to
        run: it is reached through its control socket.

          list      one line each; export: one JSON object each, with the body
          retry     sends them again, before everything that waits in their rooms; with --out-of-order beside it, marked
                    with the header roombridge-replay; one that is accepted is gone, one that is refused stays
          purge     removes them for ever

        WHICH is one or more of
          --endpoint NAME   those of one endpoint
          --room NAME       those of one room
          --all             all of them; retry and purge insist on one of the three

          --control PATH    the service's control socket
          --state-dir DIR   where it is unless --control says so (/run/roombridge/control.sock, else control.sock in
                            $STATE_DIRECTORY or /var/lib/roombridge)
        """

    private static let keygen = """
        usage: roombridge keygen [--ed25519] [--out FILE]
               roombridge keygen --show-public FILE

        Prints a new signing secret, whsec_ and the base64 of 32 random bytes: the endpoint's "signing" and the receiver
        need the same.

          --ed25519            a pair of keys in place of it, for signatures v1a: the secret (whsk_…) is for "signing"
                               alone, receivers get the public key (whpk_…), which is printed to standard error
          --out FILE           writes the secret to a new file that only its owner can read; the public key is then
                               printed to standard output
          --show-public FILE   prints the public key of the whsk_ secret in FILE (-: standard input), and makes none
        """

    private static let verify = """
        usage: roombridge verify KEYS [--received TIME] [--tolerance TIME] [REQUEST]
               roombridge verify KEYS [--received TIME] [--tolerance TIME] --headers FILE --body FILE

        Checks the signature of a captured request as its receiver does, and says what is wrong: a missing header, too old,
        the wrong key, a body that was changed. Exits with 0 when it is right, with 1 when it is not.

        REQUEST is a file with header lines (a request line before them or not), an empty line and the body, byte for byte;
        standard input when it is left out or is -.

        KEYS is one or both of
          --secret FILE      a secret (whsec_…, whsk_…) or a public key (whpk_…) is in it; may be given several times
          --config FILE --endpoint NAME   the secrets of that endpoint

          --headers FILE     the header lines alone, with --body FILE
          --received TIME    when it came: seconds since 1970, or such as 2026-11-30T02:00:00Z (now)
          --tolerance TIME   how old it may have been then (5m)
        """

    private static let check = """
        usage: roombridge check [--config FILE]

        Reads the configuration, the files and the secrets that it names. Prints every problem as
        file:line:column: path: what is wrong, what would be right, and exits with 78; or what would be joined and where
        the events would go. Under systemd it warns of secrets in the environment and of sockets that the unit cannot see.

          --config FILE     the configuration (\(Invocation.defaultConfig))
        """
}
