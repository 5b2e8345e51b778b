/// A place in a text; line and column count from 1, the column in bytes.
package struct JSONPosition: Equatable, Sendable {
    package let line: Int
    package let column: Int

    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }
}
