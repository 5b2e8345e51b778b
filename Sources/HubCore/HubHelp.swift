/// What `roomhub --help` prints.
enum HubHelp {
    static let text = """
        usage: roomhub [--config FILE] [--listen HOST:PORT]... [--faults HOST:PORT]
               roomhub --check --config FILE

        A small realtime server for development, tests and demos: Centrifugo's client protocol,
        in JSON and in protobuf, at /connection/websocket, and its server HTTP API at /api. It
        keeps everything in memory and is not for production.

          --config FILE       rooms, keys and addresses, as JSON
          --listen HOST:PORT  listen there in place of what the configuration says; port 0 takes
                              any free one; may be given again; only this option may name an
                              address that is not loopback
          --faults HOST:PORT  let tests ask for faults there, without a key; only loopback
          --check             read the configuration, say what is wrong with it, and end
          --help, -h          this
          --version           the version

        Without a configuration: 127.0.0.1:8000, rooms order:{id} (keeps 20), chat:{a}:{b} and
        shop (public, keeps 20), API key roomhub-api-key, token secret roomhub-token-secret.
        POST /auth gives tokens to the users alice and bob: try it with
        curl -H 'Authorization: Bearer alice' -d '{"rooms":["order:1"]}' http://127.0.0.1:8000/auth

        keys of the configuration, each with its default:
          listen ("127.0.0.1:8000", or a list)    api_key, token_secret (as above; {"file": …},
          rooms (the three above)                 {"env": …} or {"credential": …})
          auth (none)                             anonymous (true)
          faults (nowhere; as --faults)
          origins (pages of this machine)         server_time (false)
          ping_interval ("25s")                   pong_timeout ("8s")
          stale_delay ("10s")                     expiry_grace ("25s")
          room_limit (128)                        user_connection_limit (0: any number)
          queue_limit (1048576)                   messages_per_frame (16)
          $schema (for editors; not looked at)
        keys of a rule in rooms:
          pattern (required)                      history (0), keep ("30m")
          anonymous (true)                        public (false)
          presence (false)                        join_leave ("always" with presence)
          max_members (any number)                members_may (what is kept and known)
          recovery, position ("always" with a history)
        keys of auth: users (required), path ("/auth"), token_life ("1h");
        of a user: rooms (none), bearer (the name)

        exit status: 0 ended by SIGTERM or SIGINT, or done   64 command line   66 no such file
                     69 cannot listen there   78 configuration
        More: man roomhub, docs/ROOMHUB.md
        """
}
