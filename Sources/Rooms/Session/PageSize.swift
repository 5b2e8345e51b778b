/// How many publications to ask for in one history page.
///
/// A reply larger than the server's queue is followed by a close, so pages aim at a size in bytes, by the sizes seen,
/// and shrink when one does not come through.
struct PageSize {
    /// The server's own limit.
    static let most = 300

    private(set) var limit = 128
    /// A reply was lost on this link: small pages from now on.
    private(set) var isCautious = false
    /// How often in a row not even a page of one came through where nothing else can be to blame.
    private(set) var lostSingles = 0

    private var aim: Int { isCautious ? 128 * 1024 : 256 * 1024 }

    /// A page came through.
    mutating func arrived(count: Int, bytes: Int) {
        lostSingles = 0
        guard count > 0 else { return }
        let fitting = aim / max(1, bytes / count)
        limit = max(1, min(fitting, limit * 2, Self.most))
    }

    /// An answer did not come through while several were awaited.
    mutating func beCautious() {
        isCautious = true
        limit = min(limit, 16)
    }

    /// Not more than another room could get; arrivals widen it again.
    mutating func restrict(to limit: Int) {
        self.limit = min(self.limit, max(1, limit))
    }

    /// The only page that was awaited did not come through; true when its first publication never will.
    ///
    /// `isSole`: nothing but this page can have ended the connection.
    mutating func lost(isSole: Bool) -> Bool {
        guard limit == 1 else {
            limit = min(16, max(1, limit / 4))
            isCautious = true
            return false
        }
        guard isSole else { return false }
        lostSingles += 1
        guard lostSingles >= 3 else { return false }
        lostSingles = 0
        return true
    }

    /// All that was missed is here.
    mutating func caughtUp() {
        isCautious = false
        lostSingles = 0
    }
}
