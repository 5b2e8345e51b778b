extension Duration {
    /// The one form of durations in the log: `455ms`, `5.0s`, `5m5s`, `2h0m`, `3d4h`.
    package var shortText: String {
        let milliseconds = max(0, wholeMilliseconds)
        if milliseconds < 1_000 { return "\(milliseconds)ms" }
        let tenths = milliseconds / 100 + (milliseconds % 100 >= 50 ? 1 : 0)
        if tenths < 600 { return "\(tenths / 10).\(tenths % 10)s" }
        let seconds = tenths / 10 + (tenths % 10 >= 5 ? 1 : 0)
        if seconds < 3_600 { return "\(seconds / 60)m\(seconds % 60)s" }
        let minutes = seconds / 60
        if minutes < 1_440 { return "\(minutes / 60)h\(minutes % 60)m" }
        return "\(minutes / 1_440)d\(minutes % 1_440 / 60)h"
    }
}
