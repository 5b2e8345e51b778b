package import RoomsRuntime

/// A dead letter as it lies in the store.
package struct StoredDeadLetter: Sendable {
    /// Names it for operators; never used again.
    package var number: Int64
    package var letter: DeadLetter
    /// The record as it was to be delivered.
    package var delivery: PendingDelivery
    /// The endpoint's name.
    package var endpoint: ByteString
    /// The run that sends it again, nil: none does.
    package var run: ByteString?

    package init(
        number: Int64,
        letter: DeadLetter,
        delivery: PendingDelivery,
        endpoint: ByteString,
        run: ByteString?
    ) {
        self.number = number
        self.letter = letter
        self.delivery = delivery
        self.endpoint = endpoint
        self.run = run
    }
}

/// That a record is a dead letter which an operator sends again.
package struct DeadLetterRetry: Hashable, Sendable {
    package var number: Int64
    package var run: ByteString
    /// At the head of its lane; else beside it, and marked.
    package var isInOrder: Bool

    package init(number: Int64, run: ByteString, isInOrder: Bool) {
        self.number = number
        self.run = run
        self.isInOrder = isInOrder
    }
}

/// Which dead letters are meant: those that all that is given says of.
package struct DeadLetterSelection: Hashable, Sendable {
    package var numbers: Set<Int64>?
    package var endpoint: ByteString?
    package var room: ByteString?

    package init(numbers: Set<Int64>? = nil, endpoint: ByteString? = nil, room: ByteString? = nil) {
        self.numbers = numbers
        self.endpoint = endpoint
        self.room = room
    }
}

/// What an operator wants of the dead letters.
package enum DeadLetterRequest: Sendable {
    /// Those behind that number, in its order; fewer than `limit` when they are large.
    case page(DeadLetterSelection, after: Int64, limit: Int)
    case retry(DeadLetterSelection, run: ByteString, inOrder: Bool)
    case purge(DeadLetterSelection)
}

package enum DeadLetterAnswer: Sendable {
    /// `next` is what the next page begins behind, nil: there is none.
    case page([StoredDeadLetter], next: Int64?)
    /// How many there were.
    case changed(Int)
    case unknownEndpoint(ByteString)
}
