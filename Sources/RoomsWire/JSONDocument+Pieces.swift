/// What a JSON text consists of, in its order.
package enum JSONPiece: Equatable, Sendable {
    case beginObject
    case beginArray
    /// The end of the object or array that began last and has not ended yet.
    case end
    /// The key of a member, whose value follows.
    case key(String)
    case string(String)
    /// The digits as they stand in the text.
    case number(String)
    case bool(Bool)
    case null
}

extension JSONDocument {
    /// Hands out every piece of the text in order, for those who build a tree of their own.
    package func forEachPiece(_ body: (JSONPiece) -> Void) {
        let tape = root.tape
        /// Of the open objects and arrays: the first entry behind them.
        var ends: [UInt32] = []
        for index in tape.entries.indices {
            while let end = ends.last, end == UInt32(index) {
                ends.removeLast()
                body(.end)
            }
            let entry = tape.entries[index]
            switch entry.kind {
            case .object:
                ends.append(entry.next)
                body(.beginObject)
            case .array:
                ends.append(entry.next)
                body(.beginArray)
            case .key: body(.key(tape.text(of: entry)))
            case .string: body(.string(tape.text(of: entry)))
            case .number:
                body(.number(String(decoding: tape.bytes[Int(entry.start)..<Int(entry.end)], as: UTF8.self)))
            case .yes: body(.bool(true))
            case .no: body(.bool(false))
            case .null: body(.null)
            }
        }
        for _ in ends { body(.end) }
    }
}

extension JSONTape {
    /// What a string or key stands for.
    fileprivate func text(of entry: JSONEntry) -> String {
        let body = bytes[Int(entry.start) + 1..<Int(entry.end) - 1]
        guard entry.isEscaped else { return String(decoding: body, as: UTF8.self) }
        return String(decoding: body.withUnsafeBufferPointer { JSONText.unescape($0) }, as: UTF8.self)
    }
}
