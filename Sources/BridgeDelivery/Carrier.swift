internal import BridgeModel
internal import RoomsRuntime

/// How attempts travel to one endpoint, and how their ends come back.
///
/// Belongs to the loop's thread.
protocol Carrier: AnyObject {
    /// Whether it takes one more attempt now; when it does again, it says `goOn`.
    var canBegin: Bool { get }
    /// When `check` has something to do.
    var deadline: Instant { get }
    /// Sends `consignment`; its end is told to the owner, perhaps before this returns.
    func begin(_ consignment: Consignment)
    /// All that begins at this moment has begun.
    func flush()
    /// Ends what is overdue.
    func check(_ now: Instant)
    /// What begins from now on is sent with the new secrets and certificates.
    func renew(_ settings: EndpointSettings)
    /// Lets go of every connection without a word to the owner.
    func close()
}

/// Where a carrier reports to; what begins because of it begins with `goOn`, once all that ended together is told.
protocol CarrierOwner: AnyObject {
    func finished(_ attempt: EndpointStateMachine.Attempt, _ verdict: Verdict)
    /// Whether the attempt may begin again at once.
    func mayRetry(_ attempt: EndpointStateMachine.Attempt) -> Bool
    /// The attempt came to nothing without anybody's fault.
    ///
    /// `isCounted`: the receiver may have seen it.
    func tookBack(_ attempt: EndpointStateMachine.Attempt, isCounted: Bool)
    /// The receiver's clock, in seconds since 1970.
    func sawDate(_ date: Int64)
    /// What the receiver asked for on its connection holds no longer.
    func connectionEnded()
    /// Begins all that may begin now.
    func goOn()
    /// The carrier wants `check` to be called then at the latest.
    func arm(_ deadline: Instant)
}

/// One attempt with what it is about.
struct Consignment {
    var attempt: EndpointStateMachine.Attempt
    var delivery: PendingDelivery
    /// The last seq that the endpoint accepted in the room.
    var previousSeq: Int64
    /// How many the endpoint has not had since then.
    var skipped: Int64
    /// Milliseconds since 1970.
    var wallTime: Int64
    /// What goes out together, the delivery and those behind it; empty where each goes for itself.
    var batch: [PendingDelivery] = []
    /// How large that may be.
    var batchBytes = 0
}
