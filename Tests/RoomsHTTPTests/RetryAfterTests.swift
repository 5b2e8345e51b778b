import RoomsHTTP
import RoomsRuntime
import Testing

@Suite struct RetryAfterTests {
    private static let date: ByteString = "Sun, 06 Nov 1994 08:49:37 GMT"
    /// The same in seconds since 1970.
    private static let seconds: Int64 = 784_111_777

    @Test(
        "seconds, or a date from the answer's own date or from now",
        arguments: [
            ("0", nil, 0), ("120", nil, 120), ("18446744073709551615", nil, Int64.max),
            ("18446744073709551616", nil, nil),
            ("", nil, nil), ("-1", nil, nil), ("soon", nil, nil), ("1 2", nil, nil),
            ("99999999999", nil, 99_999_999_999),
            ("1.5", nil, 2), ("1.0", nil, 1), ("0.001", nil, 1), ("1.", nil, nil), (".5", nil, nil), ("1.x", nil, nil),
            ("1.2.3", nil, nil), ("18446744073709551615.5", nil, Int64.max),
            ("Sun, 06 Nov 1994 08:49:40 GMT", date, 3), ("Sun, 06 Nov 1994 08:49:40 GMT", nil, 13),
            ("Sun, 06 Nov 1994 08:49:40 GMT", "nonsense", 13), ("Sun, 06 Nov 1994 08:49:30 GMT", date, 0),
            ("Mon, 07 Nov 1994 08:49:37 GMT", date, 86_400), ("Thu, 29 Feb 1996 00:00:00 GMT", date, 41_440_223),
            ("Fri, 01 Mar 1996 00:00:00 GMT", date, 41_526_623), ("Thu, 01 Jan 1970 00:00:00 GMT", date, 0),
            ("Sun, 06 Nov 1994 25:49:37 GMT", date, nil), ("Sun, 32 Nov 1994 08:49:37 GMT", date, nil),
            ("Sun, 06 Nox 1994 08:49:37 GMT", date, nil), ("Sun, 06 Nov 1994 08:49:37 CET", date, nil),
            ("Sunday, 06-Nov-94 08:49:40 GMT", date, 3), ("Sunday, 06-Nov-94 08:49:40 GMT", nil, 13),
            ("Sun Nov  6 08:49:40 1994", date, 3), ("Sun Nov 16 08:49:37 1994", date, 864_000),
            ("Monday, 06-Nov-44 08:49:37 GMT", date, 1_577_923_200), ("Monday, 06-Nov-45 08:49:37 GMT", date, nil),
            ("Sunday, 06-Nov-1994 08:49:37 GMT", date, nil), ("Sunday, 6-Nov-94 08:49:37 GMT", date, nil),
            ("Sun, 06-Nov-94 08:49:37 GMT", date, nil), ("Sun Nov  6 8:49:37 1994", date, nil),
            ("Som, 06 Nov 1994 08:49:37 GMT", date, nil), ("Sun Nov  6 08:49:37 1994 GMT", date, nil),
            ("Sun, 06 Nov 1994 08:49:37", date, nil), ("Sun, 06 Nov 99999 08:49:37 GMT", date, nil),
        ] as [(ByteString, ByteString?, Int64?)]
    )
    func delays(_ value: ByteString, _ date: ByteString?, _ expected: Int64?) {
        let delay = RetryAfter.delay(value, date: date, wall: (Self.seconds - 10) * 1_000 + 999)
        #expect(delay == expected.map { .seconds($0) })
    }
}
