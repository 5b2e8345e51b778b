import RoomsRuntime
import RoomsWire

/// A room's stream as a real server keeps it: what it answers to subscribe and history, by the table of recovery.
struct StreamModel {
    var epoch: ByteString
    var top: UInt64 = 0
    /// What is still there, oldest first.
    var stored: [Publication] = []
    var isRecoverable = true
    var isHistoryAllowed = true
    var historySize = 1_000
    var recoveryLimit = 300
    var pageLimit = 300

    init(epoch: ByteString = "A", published count: Int = 0) {
        self.epoch = epoch
        for _ in 0..<count { publish() }
    }

    @discardableResult
    mutating func publish(_ text: String = "{}") -> Publication {
        top += 1
        // The first of a stream carries the epoch.
        let publication = Publication(data: Payload(text), offset: top, epoch: top == 1 ? epoch : .empty)
        stored.append(Publication(data: publication.data, offset: top))
        if stored.count > historySize { stored.removeFirst(stored.count - historySize) }
        return publication
    }

    mutating func trim(upTo offset: UInt64) {
        stored.removeAll { $0.offset <= offset }
    }

    mutating func restart(epoch: ByteString) {
        self.epoch = epoch
        top = 0
        stored = []
    }

    mutating func goBack(to offset: UInt64) {
        top = offset
        stored.removeAll { $0.offset > offset }
    }

    func subscribe(_ request: SubscribeRequest) -> SubscribeResult {
        var result = SubscribeResult()
        result.wasRecovering = request.recover
        guard isRecoverable else { return result }
        result.recoverable = true
        result.positioned = true
        result.epoch = epoch
        result.offset = top
        guard request.recover else { return result }
        let missed = stored.filter { $0.offset > request.offset }
        let isSameEpoch = request.epoch.isEmpty || request.epoch == epoch
        let isWhole =
            missed.isEmpty
            ? top == request.offset : missed.first?.offset == request.offset + 1 && missed.last?.offset == top
        if isSameEpoch, isWhole, missed.count <= recoveryLimit {
            result.recovered = true
            result.publications = missed
            result.offset = request.offset
        }
        return result
    }

    func history(_ request: HistoryRequest) -> ReplyBody {
        guard isHistoryAllowed else { return .error(ErrorReply(code: 103, message: "permission denied")) }
        let since = request.since ?? StreamPosition(offset: 0, epoch: .empty)
        guard since.epoch.isEmpty || since.epoch == epoch else {
            return .error(ErrorReply(code: 112, message: "unrecoverable position"))
        }
        var result = HistoryResult()
        result.epoch = epoch
        result.offset = top
        let limit = request.limit < 0 ? pageLimit : min(Int(request.limit), pageLimit)
        result.publications = Array(stored.filter { $0.offset > since.offset }.prefix(limit))
        return .history(result)
    }
}
