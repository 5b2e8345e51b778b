package import BridgeModel
internal import RoomsRuntime

/// What the store holds, for whom.
package struct StoreStatus: Sendable {
    package struct Endpoint: Sendable {
        package var id: EndpointID
        package var waitingRows: Int64 = 0
        package var waitingBytes: Int64 = 0
        package var deadLetters = 0
    }

    /// Rows on disk, each once, and their size.
    package var waitingRows: Int64
    package var waitingBytes: Int64
    package var maxSize: Int
    package var isBufferFull: Bool
    package var isDiskFull: Bool
    /// Of those that are configured.
    package var endpoints: [Endpoint]

    package init(
        waitingRows: Int64 = 0,
        waitingBytes: Int64 = 0,
        maxSize: Int,
        isBufferFull: Bool = false,
        isDiskFull: Bool = false,
        endpoints: [Endpoint] = []
    ) {
        self.waitingRows = waitingRows
        self.waitingBytes = waitingBytes
        self.maxSize = maxSize
        self.isBufferFull = isBufferFull
        self.isDiskFull = isDiskFull
        self.endpoints = endpoints
    }
}

extension Ledger {
    /// A look at each lane; no reading.
    func status(_ admission: Admission) -> StoreStatus {
        var endpoints: [EndpointID: StoreStatus.Endpoint] = [:]
        for id in endpointNames.keys {
            endpoints[id] = StoreStatus.Endpoint(id: id, deadLetters: deadLetters[id]?.count ?? 0)
        }
        for lane in catalog.lanes where lane.state.waitingRows > 0 {
            endpoints[lane.endpoint]?.waitingRows += lane.state.waitingRows
            endpoints[lane.endpoint]?.waitingBytes += lane.state.waitingBytes
        }
        return StoreStatus(
            waitingRows: counts.waitingRows,
            waitingBytes: counts.waitingBytes,
            maxSize: admission.maxSize,
            isBufferFull: admission.isBufferFull,
            isDiskFull: admission.isDiskFull,
            endpoints: endpoints.values.sorted { $0.id.rawValue < $1.id.rawValue }
        )
    }
}
