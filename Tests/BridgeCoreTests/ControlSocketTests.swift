import BridgeTestSupport
import Testing

@testable import BridgeCore

/// Where commands look for the service.
@Suite struct ControlSocketTests {
    @Test func `the unit's socket goes before the state directory's, and options before both`() throws {
        let folder = try TemporaryDirectory()
        let unit = try folder.write("", to: "unit.sock")
        func path(_ socket: String?, _ state: String?, _ unit: String) -> String {
            ControlSocket.path(given: socket, stateDirectory: state, unitPath: unit)
        }
        #expect(path(nil, nil, unit) == unit)
        #expect(path("/x.sock", "/state", unit) == "/x.sock")
        #expect(path(nil, "/state", unit) == "/state/control.sock")
        #expect(path(nil, nil, folder.file("none")) == ControlSocket.path(in: Service.usualStateDirectory))
    }
}
