export default function Page() {
  return <p>Спросите: POST /api/ask</p>
}
