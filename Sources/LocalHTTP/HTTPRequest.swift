package import RoomsRuntime

/// One HTTP request with its whole body.
package struct HTTPRequest {
    package let method: ByteString
    /// Without the query; percent signs are decoded.
    package let path: ByteString
    /// In the order of the wire, as sent.
    package let query: [(name: ByteString, value: ByteString)]
    /// In the order of the wire; names in lower case.
    package let headers: [(name: ByteString, value: ByteString)]
    package let body: [UInt8]

    package init(
        method: ByteString,
        path: ByteString,
        query: [(name: ByteString, value: ByteString)] = [],
        headers: [(name: ByteString, value: ByteString)] = [],
        body: [UInt8] = []
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.body = body
    }

    /// The first header called `name`, which must be in lower case.
    package func header(_ name: ByteString) -> ByteString? {
        headers.first { $0.name == name }?.value
    }

    package func parameter(_ name: ByteString) -> ByteString? {
        query.first { $0.name == name }?.value
    }

    /// The elements of a comma-separated header in all its lines, without white space around them.
    package func list(_ name: ByteString) -> [ByteString] {
        headers.filter { $0.name == name }.flatMap { header in
            header.value.bytes.split(separator: UInt8(ascii: ",")).map { part in
                let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
                let start = part.drop(while: isSpace)
                return ByteString(
                    Array(start[..<(start.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? start.startIndex)])
                )
            }
        }
    }

    /// The bytes with ASCII letters in lower case.
    package static func lowercased(_ name: ByteString) -> ByteString {
        ByteString(name.bytes.map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 })
    }
}
